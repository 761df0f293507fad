// What the demo agent is asked, in its own words, and what must be there when the run is over. A scenario
// looks at `{messages, events}`: the client's messages after the question, and the events as they went
// over the wire.

import assert from "node:assert/strict";

export const scenarios = [
  {
    name: "say-hello",
    ask: "say hello",
    expect: ({ messages }) => assert.deepEqual(shape(messages), ["text"]),
  },
  {
    name: "think-first",
    ask: "think first",
    expect: ({ messages }) => assert.deepEqual(shape(messages), ["reasoning", "text"]),
  },
  {
    name: "use-a-tool",
    ask: "use a tool",
    expect({ messages }) {
      assert.deepEqual(shape(messages), ["1 call", "result", "text"]);
      assert.notDeepEqual(Object.keys(callsOf(messages)[0].args), [], "the call has arguments");
    },
  },
  {
    name: "use-two-tools-at-once",
    ask: "use two tools at once",
    expect({ messages, events }) {
      assert.deepEqual(shape(messages), ["2 calls", "result", "result", "text"]);
      const types = events.map((event) => event.type);
      const secondStart = types.indexOf("TOOL_CALL_START", types.indexOf("TOOL_CALL_START") + 1);
      assert.ok(secondStart < types.indexOf("TOOL_CALL_RESULT"), "both calls are open before a result");
    },
  },
  {
    name: "call-a-tool-without-arguments",
    ask: "call a tool without arguments",
    expect({ messages }) {
      assert.deepEqual(shape(messages), ["1 call", "result", "text"]);
      assert.deepEqual(callsOf(messages)[0].args, {});
    },
  },
  {
    name: "text-tool-text",
    ask: "text, tool, text",
    expect: ({ messages }) => assert.deepEqual(shape(messages), ["text and 1 call", "result", "text and 1 call", "result", "text"]),
  },
  {
    name: "fail-half-way",
    ask: "fail half-way",
    error: "demo_failure",
    expect: ({ messages }) => assert.deepEqual(shape(messages), ["text", "text"]),
  },
  {
    name: "fail-at-once",
    ask: "fail at once",
    error: "demo_failure",
    expect: ({ messages }) => assert.match(messages.at(-1).content, /^The run failed: the demo failed at once/),
  },
  {
    name: "panic",
    ask: "panic",
    error: "internal",
    expect: ({ events }) => assert.doesNotMatch(JSON.stringify(events.at(-1)), /\.rs\b|panicked/),
  },
  {
    name: "stream-2000-words",
    ask: "stream 2000 words",
    expect({ messages, events }) {
      assert.deepEqual(shape(messages), ["text"]);
      assert.equal(messages[0].content.trim().split(/\s+/).length, 2000);
      const deltas = events.filter((event) => event.type === "TEXT_MESSAGE_CONTENT");
      assert.equal(deltas.map((event) => event.delta).join(""), messages[0].content);
    },
  },
  {
    name: "say-nothing",
    ask: "say nothing",
    expect: ({ messages }) => assert.deepEqual(shape(messages), []),
  },
  {
    name: "notice",
    ask: "notice",
    expect({ events }) {
      const notice = events.find((event) => event.type === "CUSTOM");
      assert.match(notice?.name ?? "", /^\w+\.\w+/, "a CUSTOM with a name in a namespace");
    },
  },
];

/** Checks what holds for the messages and the state of every run; `waiting`: how many calls have no result yet. */
export function checkClient(agent, waiting = 0) {
  const ids = agent.messages.map((message) => message.id);
  assert.equal(new Set(ids).size, ids.length, `message ids are unique: ${ids}`);
  const open = new Set(callsOf(agent.messages).map((call) => call.id));
  for (const message of agent.messages.filter((candidate) => candidate.role === "tool")) {
    assert.ok(open.delete(message.toolCallId), "each result answers one call");
  }
  assert.equal(open.size, waiting, `calls without a result: ${[...open]}`);
  assert.ok("thread" in agent.state && "agent" in agent.state, "the state names thread and agent");
}

/** The kinds of the messages in order; an empty one is no kind at all and fails. */
export function shape(messages) {
  return messages.map((message) => {
    const calls = message.toolCalls?.length ?? 0;
    assert.ok(calls > 0 || message.content?.length > 0, `an empty message: ${JSON.stringify(message)}`);
    if (message.role === "tool") return "result";
    if (message.role === "reasoning") return "reasoning";
    assert.equal(message.role, "assistant");
    if (calls === 0) return "text";
    return `${message.content ? "text and " : ""}${calls} call${calls > 1 ? "s" : ""}`;
  });
}

/** The calls in messages, in their order. */
export function callsOf(messages) {
  return messages
    .flatMap((message) => message.toolCalls ?? [])
    .map((call) => ({ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }));
}
