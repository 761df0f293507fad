// Anthropic messages.

import { plainText, position } from "./position.mjs";

export const messages = {
  name: "messages",
  matches: (path) => path.endsWith("/messages"),
  streams: (_path, body) => body.stream === true,
  read(body) {
    const turns = (body.messages ?? []).map(({ role, content }) => ({
      user: role === "user",
      text: plainText(content),
      results: resultsIn(content).map((part) => plainText(part.content)),
    }));
    return { ...position(turns), tools: (body.tools ?? []).map((tool) => tool.name) };
  },
  start: (id) => [{ type: "message_start", message: message(id, [], null) }],
  step(step, id) {
    const { index } = step;
    const delta = {
      think: { type: "thinking_delta", thinking: step.text },
      say: { type: "text_delta", text: step.text },
      call: { type: "input_json_delta", partial_json: JSON.stringify(step.args) },
    }[step.kind];
    const events = [{ type: "content_block_delta", index, delta }];
    if (step.first) {
      const empty = { think: { thinking: "" }, say: { text: "" }, call: { input: {} } }[step.kind];
      events.unshift({ type: "content_block_start", index, content_block: { ...block(step, id), ...empty } });
    }
    if (step.last) {
      if (step.kind === "think") {
        events.push({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: "scripted" } });
      }
      events.push({ type: "content_block_stop", index });
    }
    return events;
  },
  end: (steps) => [
    { type: "message_delta", delta: { stop_reason: stopReason(steps), stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ],
  whole(steps, id) {
    const content = steps.map((step) => block(step, id));
    return message(id, content.length > 0 ? content : [{ type: "text", text: "{}" }], stopReason(steps));
  },
  done: "",
};

function resultsIn(content) {
  return Array.isArray(content) ? content.filter((part) => part.type === "tool_result") : [];
}

function block(step, id) {
  return {
    think: { type: "thinking", thinking: step.text, signature: "" },
    say: { type: "text", text: step.text },
    call: { type: "tool_use", id: `toolu_${id}`, name: step.name, input: step.args },
  }[step.kind];
}

function message(id, content, stop_reason) {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: "mock",
    content,
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 7 },
  };
}

function stopReason(steps) {
  return steps.some((step) => step.kind === "call") ? "tool_use" : "end_turn";
}
