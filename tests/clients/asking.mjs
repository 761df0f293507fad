// Drives what waits for the page or for a person with the stock `HttpAgent` of one folder: tools of the page,
// permissions, questions, one at a time and several at once, answered by this client or by one that comes later:
//
//   AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… node asking.mjs v1.0.0

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { createAsker, resultsOf, textOf, yes } from "./asker.mjs";
import { check, finish } from "./report.mjs";

const folder = process.argv[2];
const asker = await createAsker(folder);
const { runner, newAgent, isCurrent, answer, post, hydrate } = asker;

const tool = (name) => ({ name, description: `Does ${name}`, parameters: { type: "object", properties: {} } });
const WRITTEN = "write_file: allowed (once)\nThat is all.";
const DENIED = "write_file: denied (reject, said)\nThat is all.";
const CHOSEN = {
  answers: [
    { questionId: "q1", header: "Colour", selected: ["Blue"], otherText: "but not navy" },
    { questionId: "q2", header: "Fruits", selected: ["Apples", "Plums"] },
  ],
};

const everywhere = {
  "tool-of-the-page": toolOfThePage,
  "tool-of-the-page-that-fails": toolThatFails,
  "two-tools-of-the-page-at-once": twoTools,
  "tool-of-the-page-typed-over": typedOver,
  "permission-by-a-tool-of-the-page": permissionByTool,
  "question-by-a-tool-of-the-page": questionByTool,
  "permission-by-the-older-answer": olderAnswer,
};
const withInterrupts = {
  "permission-given": () => permission({ payload: { approved: true } }, "written", WRITTEN),
  "permission-given-as-text": () => permission({ payload: '{"approved":true}' }, "written", WRITTEN),
  "permission-given-for-good": () => permission(
    { payload: { optionId: "always" } }, "written", WRITTEN.replace("once", "always"),
  ),
  "permission-denied": () => permission({ payload: { approved: false } }, "permission denied", DENIED),
  "permission-denied-by-prose": () => permission({ payload: "well, if you must" }, "permission denied", DENIED),
  "permission-called-off": () => permission(
    { status: "cancelled", payload: undefined }, "permission denied", DENIED.replace("said", "given_up"),
  ),
  "permission-then-another": permissionTwice,
  "two-permissions-at-once": twoPermissions,
  "permission-and-tool-of-the-page-at-once": permissionAndTool,
  "question": question,
  "form": form,
  "run-id-of-the-interrupted-run": sameRunId,
  "answered-twice": answeredTwice,
};
const current = {
  "reload-in-between": reload,
  "reload-before-a-tool-of-the-page": reloadBeforeTool,
};
const checks = { ...everywhere, ...(asker.knowsInterrupts && withInterrupts), ...(isCurrent && current) };
for (const [name, run] of Object.entries(checks)) {
  runner.forgive();
  await check(`${folder} ${name}`, run);
}
finish();

async function toolOfThePage() {
  const agent = newAgent();
  const tools = [tool("openRecord")];
  const [call] = await pending(agent, "open record 42", tools, 1);
  assert.deepEqual(JSON.parse(callOf(agent, call).arguments), { id: 42 });
  assert.equal(callOf(agent, call).name, "openRecord");
  await assert.rejects(runner.start(agent, () => {}, { tools }), "there is nothing to say without the result");
  runner.forgive();
  respond(agent, call, "opened");
  const { events } = await runner.goOn(agent, { tools });
  assert.equal(textOf(events), "openRecord: opened\n");
  assert.deepEqual(resultsOf(events), [], "what the page said is not said back");
  assertFree(events);
  const next = await runner.run(agent, "how often");
  assert.equal(textOf(next.events), "This is turn 2 of the session.");
}

async function toolThatFails() {
  const agent = newAgent();
  const [call] = await pending(agent, "open record 7", [tool("openRecord")], 1);
  agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call, content: "", error: "no such record" });
  const { events } = await runner.goOn(agent);
  assert.equal(textOf(events), "openRecord failed: no such record\n");
}

async function twoTools() {
  const agent = newAgent();
  const tools = [tool("left"), tool("right")];
  const calls = await pending(agent, "call two page tools at once", tools, 2);
  assert.deepEqual(calls.map((call) => callOf(agent, call).name), ["left", "right"]);
  respond(agent, calls[1], "2");
  const before = agent.messages.length;
  await refused(agent, { tools }, 409);
  assert.equal(agent.messages.length, before);
  respond(agent, calls[0], "1");
  const { events } = await runner.goOn(agent, { tools });
  assert.equal(textOf(events), "left: 1\nright: 2\n");
}

async function typedOver() {
  const agent = newAgent();
  const tools = [tool("openRecord")];
  await pending(agent, "open record 42", tools, 1);
  const { events } = await runner.run(agent, "say hello", { tools, open: 1 });
  assert.match(textOf(events), /^openRecord: not executed: .*\nHello! /);
  assertFree(events);
}

async function permissionByTool() {
  const agent = newAgent();
  const tools = [tool("pando_permission_request")];
  const [written, asked] = await pending(agent, "ask permission", tools, 2);
  assert.equal(callOf(agent, written).name, "write_file");
  const shown = JSON.parse(callOf(agent, asked).arguments);
  assert.deepEqual([shown.toolName, shown.action, shown.path, shown.toolCallId], ["write_file", "edit", "notes.txt", written]);
  respond(agent, asked, '{"approved":true}');
  const { events } = await runner.goOn(agent, { tools });
  assert.deepEqual(resultsOf(events), [[written, "written"]]);
  assert.equal(textOf(events), WRITTEN);
}

async function questionByTool() {
  const agent = newAgent();
  const tools = [tool("AskUserQuestion")];
  const [call] = await pending(agent, "ask me", tools, 1);
  assert.equal(JSON.parse(callOf(agent, call).arguments).questions.length, 2);
  respond(agent, call, JSON.stringify(CHOSEN));
  const { events } = await runner.goOn(agent, { tools });
  assert.match(textOf(events), /Blue.*but not navy[^]*Apples.*Plums/);
  assert.deepEqual(resultsOf(events), []);
}

/** What pages without `resume[]` send, for which one prompt has to be open. */
async function olderAnswer() {
  const agent = newAgent();
  const { events } = await runner.run(agent, "ask permission", { open: 1 });
  const [asked] = events.at(-1).outcome.interrupts;
  assert.equal(asked.reason, "pando:permission");
  const forwardedProps = { command: { resume: { approved: true } } };
  if (asker.knowsInterrupts) {
    await post({ threadId: agent.threadId, forwardedProps });
    return;
  }
  const went = await runner.goOn(agent, { forwardedProps });
  assert.deepEqual(resultsOf(went.events), [[asked.toolCallId, "written"]]);
  assert.equal(textOf(went.events), WRITTEN);
  await runner.run(agent, "say hello");
}

async function permission(entry, outcome, text) {
  const agent = newAgent();
  const [asked] = await interrupted(agent, "ask permission", 1);
  assert.equal(asked.reason, "pando:permission");
  assert.equal(callOf(agent, asked.toolCallId).name, "write_file");
  const { events } = await runner.goOn(agent, { resume: [answer(asked, entry)] });
  assert.deepEqual(resultsOf(events), [[asked.toolCallId, outcome]]);
  assert.equal(textOf(events), text);
  assertFree(events, agent);
  const next = await runner.run(agent, "how often");
  assert.equal(textOf(next.events), "This is turn 2 of the session.");
}

async function permissionTwice() {
  const agent = newAgent();
  const [first] = await interrupted(agent, "ask permission, then another", 1);
  await runner.goOn(agent, { resume: [yes(first)], open: 1 });
  const [second] = agent.pendingInterrupts;
  assert.notEqual(second.id, first.id);
  const { events } = await runner.goOn(agent, { resume: [answer(second, { payload: { approved: false } })] });
  assert.deepEqual(resultsOf(events), [[second.toolCallId, "permission denied"]]);
  assertFree(events, agent);
}

async function twoPermissions() {
  const agent = newAgent();
  const both = await interrupted(agent, "ask two permissions at once", 2);
  await assert.rejects(runner.start(agent, () => {}, { resume: [yes(both[0])] }), /not addressed/);
  runner.forgive();
  const { threadId } = agent;
  const part = await post({ threadId, resume: [yes(both[0])] }, 409);
  assert.equal(part.error.code, "answers_missing");
  assert.ok(part.error.message.includes(both[1].id) && !part.error.message.includes(both[0].id));
  if (isCurrent) assert.deepEqual(ids((await hydrate(threadId, 2)).pendingInterrupts), ids(both));
  const resume = [answer(both[1], { payload: { approved: false } }), yes(both[0])];
  const { events } = await runner.goOn(agent, { resume });
  const results = [[both[0].toolCallId, "written"], [both[1].toolCallId, "permission denied"]];
  assert.deepEqual(resultsOf(events), results);
  assertFree(events, agent);
}

/** The person first; the page has its call in the run after that. */
async function permissionAndTool() {
  const agent = newAgent();
  const tools = [tool("draw")];
  const [asked] = await interrupted(agent, "ask permission and a page tool at once", 1, tools);
  const { seen, events } = await runner.goOn(agent, { tools, resume: [yes(asked)], open: 2 });
  const calls = agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
  const call = calls.find((candidate) => candidate.function.name === "draw").id;
  if (isCurrent) assert.ok(seen.pending.includes(call));
  assert.notEqual(events.at(-1).outcome?.type, "interrupt");
  respond(agent, call, "drawn");
  const last = await runner.goOn(agent, { tools });
  assert.equal(textOf(last.events), "write_file: allowed (once)\ndraw: drawn\n");
}

async function question() {
  const agent = newAgent();
  const [asked] = await interrupted(agent, "ask me", 1);
  assert.equal(asked.reason, "pando:question");
  assert.equal(asked.metadata.pando.questions.length, 2);
  const { events } = await runner.goOn(agent, { resume: [answer(asked, { payload: CHOSEN })] });
  const [[call, result]] = resultsOf(events);
  assert.equal(call, asked.toolCallId);
  assert.match(result, /Blue.*but not navy[^]*Apples.*Plums/);
  assertFree(events, agent);
}

async function form() {
  const agent = newAgent();
  const [asked] = await interrupted(agent, "ask for an age", 1, [], 0);
  assert.equal(asked.responseSchema.properties.age.type, "integer");
  const { events } = await runner.goOn(agent, { resume: [answer(asked, { payload: { age: 42 } })] });
  assert.equal(textOf(events), '{"age":42}\n');
}

/** CopilotKit answers with the id of the run that has asked. */
async function sameRunId() {
  const agent = newAgent();
  const runId = randomUUID();
  runner.ask(agent, "ask permission");
  await runner.goOn(agent, { runId, open: 1 });
  const { events } = await runner.goOn(agent, { runId, resume: agent.pendingInterrupts.map(yes) });
  assert.equal(textOf(events), WRITTEN);
  assertFree(events, agent);
}

async function answeredTwice() {
  const agent = newAgent();
  const [asked] = await interrupted(agent, "ask permission", 1);
  const { threadId } = agent;
  const resume = [yes(asked)];
  const { events } = await runner.goOn(agent, { resume });
  const again = await post({ threadId, resume });
  assert.deepEqual(again.map(plainly), events.map(plainly), "the same again is told what came of it");
  const other = await post({ threadId, resume: [answer(asked, { payload: { approved: false } })] }, 409);
  assert.equal(other.error.code, "already_answered");
  const next = await runner.run(agent, "how often");
  assert.equal(textOf(next.events), "This is turn 2 of the session.");
}

async function reload() {
  const agent = newAgent();
  const asked = await interrupted(agent, "ask two permissions at once", 2);
  const after = await hydrate(agent.threadId, 2);
  assert.deepEqual(after.pendingInterrupts, asked);
  assert.deepEqual(after.messages, agent.messages);
  const resume = after.pendingInterrupts.map(yes);
  const { events } = await runner.goOn(after, { resume });
  assert.deepEqual(resultsOf(events), asked.map(({ toolCallId }) => [toolCallId, "written"]));
  const later = await hydrate(agent.threadId, 0);
  assert.deepEqual(later.pendingInterrupts, []);
  assert.deepEqual(later.messages.map(({ id }) => id), after.messages.map(({ id }) => id));
}

async function reloadBeforeTool() {
  const agent = newAgent();
  const tools = [tool("openRecord")];
  const [call] = await pending(agent, "open record 42", tools, 1);
  const after = await hydrate(agent.threadId, 1);
  assert.deepEqual(after.messages, agent.messages);
  respond(after, call, "opened");
  const { events } = await runner.goOn(after, { tools });
  assert.equal(textOf(events), "openRecord: opened\n");
}

/** Asks what ends with calls that the page has to answer; resolves to their ids. */
async function pending(agent, text, tools, count) {
  const { seen, events } = await runner.run(agent, text, { tools, open: count });
  const { type, outcome } = events.at(-1);
  assert.equal(type, "RUN_FINISHED");
  const calls = events.filter((event) => event.type === "TOOL_CALL_END").map(({ toolCallId }) => toolCallId);
  assert.equal(calls.length, count);
  if (isCurrent) {
    assert.deepEqual(outcome, { type: "success", pendingToolCallIds: calls });
    assert.deepEqual(seen.pending, calls);
  } else {
    assert.equal(outcome, undefined, "nothing that older clients reject");
  }
  return calls;
}

/** Asks what ends with questions to a person; resolves to the interrupts as the client has them. */
async function interrupted(agent, text, count, tools = [], open = count) {
  const { events } = await runner.run(agent, text, { tools, open });
  assert.equal(events.at(-1).outcome.type, "interrupt");
  assert.equal(agent.pendingInterrupts.length, count);
  assert.deepEqual(agent.pendingInterrupts, events.at(-1).outcome.interrupts);
  return structuredClone(agent.pendingInterrupts);
}

function assertFree(events, agent) {
  assert.deepEqual(events.at(-1).outcome, { type: "success" });
  if (agent) assert.deepEqual(agent.pendingInterrupts, []);
}

async function refused(agent, parameters, status) {
  await assert.rejects(runner.start(agent, () => {}, parameters));
  assert.equal(runner.newest().status, status);
  runner.forgive();
}

function respond(agent, toolCallId, content) {
  agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content });
}

function callOf(agent, id) {
  return agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []).find((call) => call.id === id).function;
}

function ids(interrupts) {
  return interrupts.map(({ id }) => id);
}

function plainly({ timestamp: _, ...event }) {
  return event;
}
