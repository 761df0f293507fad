// What the demo agent is asked to do at work, and what a page can see of that without reading its chat: the state document,
// the sub-agents that a run tells of, and diffs. A scenario looks at `{messages, events, documents, state, isCurrent}`:
// `documents` are the client's state after each change of it, `state` is the last one.

import assert from "node:assert/strict";

import { callsOf, shape } from "./scenarios.mjs";

const TASKS = [
  { content: "Look at the page", priority: "high" },
  { content: "Change the title", priority: "medium" },
  { content: "Say what has changed", priority: "low" },
];
const HELPER = { id: "helper-1", prompt: "Look at the title.", persona: "reviewer" };

export const working = [
  {
    name: "make-a-plan",
    ask: "make a plan",
    expect({ documents, state }) {
      assert.deepEqual(course(documents, ({ todos }) => todos.map(({ status }) => status).join(" ")), [
        "",
        "pending pending pending",
        "in_progress pending pending",
        "completed in_progress pending",
        "completed completed in_progress",
        "completed completed completed",
      ]);
      assert.deepEqual(state.todos, TASKS.map((task) => ({ ...task, status: "completed" })));
    },
  },
  {
    name: "fill-the-context",
    ask: "fill the context",
    expect({ documents }) {
      assert.deepEqual(course(documents, ({ tokenUsage }) => tokenUsage), [
        null,
        { promptTokens: 18000, completionTokens: 0, contextWindow: 200000, estimated: true },
        {
          promptTokens: 17460, completionTokens: 320, contextWindow: 200000, estimated: false,
          cacheReadTokens: 12000, cacheWriteTokens: 2048, reasoningTokens: 96, cost: 0.0417,
        },
      ]);
    },
  },
  {
    name: "touch-files",
    ask: "touch files",
    expect({ messages, documents }) {
      const readme = { path: "README.md", name: "README.md", action: "read" };
      const main = { path: "src/main.rs", name: "main.rs" };
      assert.deepEqual(course(documents, ({ files }) => files), [
        [],
        [readme],
        [readme, { ...main, action: "read" }],
        [readme, { ...main, action: "edit" }],
      ]);
      const diffs = messages.filter(({ role }) => role === "activity");
      assert.deepEqual(diffs.map(({ activityType }) => activityType), ["pando.diff"]);
      const edit = callsOf(messages).find(({ name }) => name === "edit");
      assert.deepEqual(diffs[0].content, {
        toolCallId: edit.id, path: "src/main.rs", oldText: edit.args.old_string, newText: edit.args.new_string,
      });
    },
  },
  {
    name: "send-out-a-helper",
    ask: "send out a helper",
    expect({ messages, events, documents, isCurrent }) {
      const sent = { id: "task-0a1b2c3d", status: "running", prompt: "Look for callers of main.", engine: "claude", persona: "reviewer" };
      const done = { status: "completed", model: "sonnet", exitCode: 0, conclusion: "success", summary: "There are two." };
      assert.deepEqual(course(documents, ({ subAgents }) => subAgents), [
        [], [sent], [{ ...sent, model: "sonnet" }], [{ ...sent, ...done }],
      ]);
      assertTold(events, isCurrent && [{ name: "reviewer", call: callsOf(messages)[0].id, result: done.summary }]);
    },
  },
  {
    name: "send-out-a-swarm",
    ask: "send out a swarm",
    expect({ messages, events, documents, state, isCurrent }) {
      const statuses = course(documents, ({ subAgents }) => subAgents.map(({ status }) => status).join(" "));
      for (const status of ["pending", "awaited", "completed"]) {
        assert.ok(statuses.includes(Array(4).fill(status).join(" ")), `${statuses}`);
      }
      assert.equal(statuses.at(-1), "completed completed completed completed");
      const roles = ["worker", "worker", "verifier", "synthesizer"];
      assert.deepEqual(state.subAgents.map(({ role }) => role), roles);
      assert.deepEqual(state.subAgents.map(({ prompt }) => prompt), ["Review the code.", "Review the tests.", undefined, undefined]);
      const [{ id: call }] = callsOf(messages);
      assertTold(events, isCurrent && roles.map((name) => ({ name, call, result: undefined })));
    },
  },
  {
    name: "delegate",
    ask: "delegate",
    expect({ messages, events, documents, isCurrent }) {
      const [sent, done] = [{ ...HELPER, status: "running" }, { ...HELPER, status: "completed", summary: "The title is fine." }];
      assert.deepEqual(course(documents, ({ subAgents }) => subAgents), [[], [sent], [done]]);
      const [own, helpers] = [messages.filter(isOwn), messages.filter((message) => !isOwn(message))];
      assert.deepEqual(shape(own), ["text and 1 call", "result", "text"]);
      assert.deepEqual(shape(helpers), isCurrent ? ["reasoning", "text and 1 call", "result", "text"] : []);
      const told = assertTold(events, isCurrent && [{ name: "reviewer", call: callsOf(own)[0].id, result: done.summary }]);
      assert.ok(helpers.every(({ subagentRunId }) => subagentRunId === told[0].subagentRunId));
    },
  },
  {
    name: "delegate-and-ask",
    ask: "delegate and ask",
    open: 2,
    resume: [{ approved: true }],
    expect({ messages, events, state, isCurrent }) {
      assert.deepEqual(state.subAgents, [{ ...HELPER, status: "completed", summary: "The title is fine." }]);
      const told = events.filter(isTold).map(({ type, outcome, subagentRunId }) => [type, outcome?.type, subagentRunId]);
      const run = told[0]?.[2];
      assert.deepEqual(told, isCurrent ? [
        ["SUBAGENT_STARTED", undefined, run], ["SUBAGENT_FINISHED", "suspended", run],
        ["SUBAGENT_STARTED", undefined, run], ["SUBAGENT_FINISHED", "success", run],
      ] : []);
      const said = messages.filter((message) => !isOwn(message) && message.content && message.role === "assistant");
      assert.deepEqual(said.map(({ content }) => content), isCurrent ? ["I look at it.", "I have looked at it.", "I go on."] : []);
    },
  },
];

/** The values that something in the documents has had, one after another. */
function course(documents, of) {
  const values = documents.map(of);
  return values.filter((value, at) => at === 0 || JSON.stringify(value) !== JSON.stringify(values[at - 1]));
}

/** Whether a message is the agent's, and not a sub-agent's. */
function isOwn({ subagentRunId }) {
  return subagentRunId === undefined;
}

function isTold({ type }) {
  return type.startsWith("SUBAGENT_");
}

/**
 * Checks which sub-agents a run tells of, `{name, call, result}` each, and that each begins and succeeds; a client from
 * before 1.0 is told of none. Returns how they begin.
 */
function assertTold(events, expected) {
  const told = events.filter(isTold);
  const started = told.filter(({ type }) => type === "SUBAGENT_STARTED");
  const finished = told.filter(({ type }) => type === "SUBAGENT_FINISHED");
  assert.equal(started.length + finished.length, told.length, JSON.stringify(told));
  assert.deepEqual(finished.map(({ outcome }) => outcome.type), started.map(() => "success"));
  const results = new Map(finished.map(({ subagentRunId, result }) => [subagentRunId, result]));
  assert.deepEqual(started.map(({ name, parentToolCallId, subagentRunId }) => (
    { name, call: parentToolCallId, result: results.get(subagentRunId) }
  )), expected || []);
  return started;
}
