// OpenAI chat completions.

import { plainText, position } from "./position.mjs";

export const chat = {
  name: "chat",
  matches: (path) => path.endsWith("/chat/completions"),
  streams: (_path, body) => body.stream === true,
  read(body) {
    const turns = (body.messages ?? []).map((message) => ({
      user: message.role === "user",
      text: plainText(message.content),
      results: message.role === "tool" ? [plainText(message.content)] : [],
    }));
    return { ...position(turns), tools: (body.tools ?? []).map((tool) => tool.function?.name ?? "") };
  },
  start: () => [],
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
    return [chunk({ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null })];
  },
  end: (steps) => [{
    ...chunk({ index: 0, delta: {}, finish_reason: finishReason(steps) }),
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  }],
  whole(steps, id) {
    const deltas = steps.map((step) => this.step(step, id)[0].choices[0].delta);
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

function chunk(choice) {
  return { id: "mock", object: "chat.completion.chunk", created: 0, model: "mock", choices: [choice] };
}

function finishReason(steps) {
  return steps.some((step) => step.kind === "call") ? "tool_calls" : "stop";
}
