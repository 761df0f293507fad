// OpenAI responses.

import { plainText, position } from "./position.mjs";

export const responses = {
  name: "responses",
  matches: (path) => path.endsWith("/responses"),
  streams: (_path, body) => body.stream === true,
  read(body) {
    const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : body.input ?? [];
    const turns = items.map((item) => ({
      user: item.role === "user",
      text: plainText(item.content),
      results: item.type?.endsWith("_call_output") ? [plainText(item.output)] : [],
    }));
    return { ...position(turns), tools: (body.tools ?? []).flatMap(namesOf) };
  },
  start: (id) => [{ type: "response.created", response: answer(id, []) }],
  step(step, id) {
    const place = { output_index: step.index, item_id: itemId(step, id) };
    const events = [];
    if (step.first) events.push({ type: "response.output_item.added", output_index: step.index, item: item({ ...step, text: "" }, id) });
    if (step.kind === "say") {
      if (step.first) events.push({ type: "response.content_part.added", ...place, content_index: 0, part: textPart("") });
      events.push({ type: "response.output_text.delta", ...place, content_index: 0, delta: step.text });
    }
    if (step.kind === "think") {
      events.push({ type: "response.reasoning_summary_part.added", ...place, summary_index: 0, part: summary("") });
      events.push({ type: "response.reasoning_summary_text.delta", ...place, summary_index: 0, delta: step.text });
    }
    if (step.last) events.push({ type: "response.output_item.done", output_index: step.index, item: item({ ...step, text: step.whole }, id) });
    return events;
  },
  end: (steps, id) => [{ type: "response.completed", response: answer(id, steps.map((step) => item(step, id))) }],
  whole: (steps, id) => answer(id, steps.map((step) => item(step, id))),
  done: "",
};

function item(step, id) {
  const common = { id: itemId(step, id), status: "completed" };
  if (step.kind === "think") return { ...common, type: "reasoning", summary: [summary(step.text)] };
  if (step.kind === "say") return { ...common, type: "message", role: "assistant", content: [textPart(step.text)] };
  const [name, namespace] = step.name.split("/").reverse();
  const call = { ...common, call_id: `call_${id}`, name, ...(namespace && { namespace }) };
  // A tool that takes free text instead of an object.
  if (typeof step.args === "string") return { ...call, type: "custom_tool_call", input: step.args };
  return { ...call, type: "function_call", arguments: JSON.stringify(step.args) };
}

/** The names of what is offered: those of a namespace with it in front. */
function namesOf({ type, name, tools }) {
  return type === "namespace" ? tools.map((tool) => `${name}/${tool.name}`) : [name ?? type];
}

function itemId(step, id) {
  return `item_${id}_${step.index}`;
}

function textPart(text) {
  return { type: "output_text", text, annotations: [] };
}

function summary(text) {
  return { type: "summary_text", text };
}

function answer(id, output) {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: 0,
    model: "mock",
    status: "completed",
    output,
    usage: {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
    },
  };
}
