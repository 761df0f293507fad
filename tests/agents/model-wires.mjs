// The two model protocols that the agents speak, each as four answers: where the script is in a request,
// how many tool results follow it, which tools were offered, and what one step of an answer looks like.

import { hasScript } from "./model-script.mjs";

/** Gemini `generateContent` and `streamGenerateContent`. */
export const gemini = {
  name: "gemini",
  matches: (path) => /:(streamG|g)enerateContent$/.test(path),
  streams: (path) => path.endsWith(":streamGenerateContent"),
  read(body) {
    const turns = (body.contents ?? []).map((content) => ({
      user: content.role !== "model",
      text: (content.parts ?? []).map((part) => part.text ?? "").join(""),
      results: (content.parts ?? []).filter((part) => part.functionResponse).length,
    }));
    const tools = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    return { ...position(turns), tools: tools.map((tool) => tool.name) };
  },
  step(step) {
    const part = {
      think: { text: step.text, thought: true },
      say: { text: step.text },
      call: { functionCall: { name: step.name, args: step.args } },
    }[step.kind];
    return { candidates: [{ index: 0, content: { role: "model", parts: [part] } }] };
  },
  end: () => [{
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  }],
  whole(steps) {
    const parts = steps.flatMap((step) => this.step(step).candidates[0].content.parts);
    const [end] = this.end();
    end.candidates[0].content.parts = parts.length > 0 ? parts : [{ text: "{}" }];
    return end;
  },
  done: "",
};

/** OpenAI chat completions. */
export const chat = {
  name: "chat",
  matches: (path) => path.endsWith("/chat/completions"),
  streams: (_path, body) => body.stream === true,
  read(body) {
    const turns = (body.messages ?? []).map((message) => ({
      user: message.role === "user",
      text: plainText(message.content),
      results: message.role === "tool" ? 1 : 0,
    }));
    return { ...position(turns), tools: (body.tools ?? []).map((tool) => tool.function?.name ?? "") };
  },
  step(step, id) {
    const delta = {
      think: { reasoning_content: step.text },
      say: { content: step.text },
      call: {
        tool_calls: [{
          index: 0,
          id: `call_${id}`,
          type: "function",
          function: { name: step.name, arguments: JSON.stringify(step.args) },
        }],
      },
    }[step.kind];
    return chunk({ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null });
  },
  end: (steps) => [{
    ...chunk({ index: 0, delta: {}, finish_reason: finishReason(steps) }),
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  }],
  whole(steps, id) {
    const deltas = steps.map((step) => this.step(step, id).choices[0].delta);
    const message = {
      role: "assistant",
      content: deltas.map((delta) => delta.content ?? "").join("") || "{}",
      tool_calls: deltas.flatMap((delta) => delta.tool_calls ?? []),
    };
    if (message.tool_calls.length === 0) delete message.tool_calls;
    const [{ usage }] = this.end(steps);
    return {
      ...chunk({ index: 0, message, finish_reason: finishReason(steps) }),
      object: "chat.completion",
      usage,
    };
  },
  done: "data: [DONE]\n\n",
};

/** The newest prompt with a script, and how many tool results came after it. */
function position(turns) {
  const at = turns.findLastIndex((turn) => turn.user && hasScript(turn.text));
  const results = turns.slice(at + 1).reduce((sum, turn) => sum + turn.results, 0);
  return { script: at < 0 ? "" : turns[at].text, results };
}

function plainText(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

function chunk(choice) {
  return { id: "mock", object: "chat.completion.chunk", created: 0, model: "mock", choices: [choice] };
}

function finishReason(steps) {
  return steps.some((step) => step.kind === "call") ? "tool_calls" : "stop";
}
