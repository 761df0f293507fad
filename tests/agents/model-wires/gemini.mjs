// Gemini `generateContent` and `streamGenerateContent`.

import { position } from "./position.mjs";

export const gemini = {
  name: "gemini",
  matches: (path) => /:(streamG|g)enerateContent$/.test(path),
  streams: (path) => path.endsWith(":streamGenerateContent"),
  read(body) {
    const turns = (body.contents ?? []).map((content) => ({
      user: content.role !== "model",
      text: (content.parts ?? []).map((part) => part.text ?? "").join(""),
      results: (content.parts ?? []).flatMap(({ functionResponse: it }) => (it ? [JSON.stringify(it.response)] : [])),
    }));
    const tools = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    return { ...position(turns), tools: tools.map((tool) => tool.name) };
  },
  start: () => [],
  step(step) {
    const part = {
      think: { text: step.text, thought: true },
      say: { text: step.text },
      call: { functionCall: { name: step.name, args: step.args } },
    }[step.kind];
    return [{ candidates: [{ index: 0, content: { role: "model", parts: [part] } }] }];
  },
  end: () => [{
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  }],
  whole(steps) {
    const parts = steps.flatMap((step) => this.step(step)[0].candidates[0].content.parts);
    const [end] = this.end();
    end.candidates[0].content.parts = parts.length > 0 ? parts : [{ text: "{}" }];
    return end;
  },
  done: "",
};
