// Drives threads that last with the stock `HttpAgent` of one folder: left and come back to, watched by several at
// once, stopped, edited, forgotten:
//
//   AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… node threads.mjs v1.0.0
//
// Beside the demo, the daemon has to serve another one as `lasting`, whose runs linger. LONG_RUNS=1 makes the run
// that is left one of a minute.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { check, finish, within } from "./report.mjs";
import { createRunner } from "./runner.mjs";
import { checkClient } from "./scenarios.mjs";
import { checkStream, exchangeOf, parseBody } from "./wire.mjs";

/** In seconds: how long the run takes, and when its client leaves, comes back, and is joined by another. */
const [LASTS, LEAVES, RETURNS, JOINED] = process.env.LONG_RUNS ? [60, 5, 10, 20] : [12, 2, 4, 7];
const WATCH_TIMEOUT = 90_000;

const folder = process.argv[2];
const client = await import(`./${folder}/client.mjs`);
const runner = createRunner(client);
const token = process.env.AGUI_TOKEN;
const demo = process.env.AGUI_URL;
const lasting = demo.replace(/[^/]+$/, "lasting");
const isCurrent = client.protocolVersion !== undefined;

const everywhere = { "stop-while-the-client-reads": stopWhileReading };
const current = {
  "leave-and-come-back": leaveAndComeBack,
  "hydrate-what-has-ended": hydrateWhatHasEnded,
  "hydrate-what-is-not-there": hydrateNothing,
  "one-run-id-twice": oneRunIdTwice,
  regenerate,
  edit,
  "list-show-and-forget": listShowAndForget,
};
for (const [name, run] of Object.entries({ ...everywhere, ...(isCurrent ? current : {}) })) {
  runner.forgive();
  await check(`${folder} ${name}`, run);
}
finish();

async function leaveAndComeBack() {
  const begin = Date.now();
  const at = (seconds) => pause(Math.max(0, begin + seconds * 1000 - Date.now()));
  const first = runner.newAgent(lasting, token);
  runner.ask(first, `count slowly for ${LASTS} seconds`);
  const leaving = runner.start(first);
  await at(LEAVES);
  first.abortRun();
  await leaving;
  const { runId } = runner.newest().sent;
  const said = first.messages.at(-1);
  assert.match(said.content, /^1 2 3 /, "it has heard the beginning");

  await at(RETURNS);
  const returning = watch(hydrating(lasting, first.threadId));
  const joining = at(JOINED).then(() => watch(watching(lasting, first.threadId)));
  const [back, joined] = await Promise.all([returning, joining]);
  assert.ok(Date.now() - begin > (LASTS - 1) * 1000, "the run has not ended early");

  const whole = Array.from({ length: 4 * LASTS }, (_, at) => `${at + 1} `).join("");
  for (const { messages, events } of [back, joined]) {
    checkStream(events, { threadId: first.threadId, runId }, client);
    assert.deepEqual(events.at(-1).outcome, { type: "success" });
    checkBeginning(events);
    assert.deepEqual(messages, [plain(first.messages[0]), { ...plain(said), content: whole }]);
    const told = events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta);
    assert.ok(told.length > 1, "what is said from now on comes as it is said");
  }
}

async function hydrateWhatHasEnded() {
  const live = newAgent();
  for (const words of ["text, tool, text", "think first", "use a tool that fails"]) await runner.run(live, words);
  const { messages, events, sent } = await watch(hydrating(demo, live.threadId));
  checkStream(events, sent, client);
  assert.deepEqual(messages, live.messages.map(plain));
  const types = events.map(({ type }) => type);
  assert.deepEqual(types, ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
}

async function hydrateNothing() {
  const agent = hydrating(demo, `thread-${randomUUID()}`);
  await assert.rejects(agent.runAgent({ runId: randomUUID() }));
  assert.equal(agent.exchange.status, 404);
  runner.forgive();
}

async function oneRunIdTwice() {
  const [threadId, runId] = [`thread-${randomUUID()}`, randomUUID()];
  const asked = (content) => ({ id: randomUUID(), role: "user", content });
  const messages = [asked("count slowly for 1 seconds")];
  const both = await Promise.all([1, 2].map(() => post({ threadId, runId, messages })));
  const later = await post({ threadId, runId, messages });
  for (const events of [...both, later]) {
    checkStream(events, { threadId, runId }, client);
    assert.equal(textOf(events), "1 2 3 4 ");
  }
  const again = [...messages, asked("how often?")];
  const counted = await post({ threadId, runId: randomUUID(), messages: again });
  assert.equal(textOf(counted), "This is turn 2 of the session.");
}

async function stopWhileReading() {
  const agent = newAgent();
  runner.ask(agent, "count slowly for 60 seconds");
  let stopping;
  const words = new Promise((heard) => {
    stopping = runner.start(agent, ({ event }) => event.delta.startsWith("3") && heard());
  });
  await words;
  const at = Date.now();
  const stopped = await call("POST", `${demo}/threads/${agent.threadId}/cancel`);
  assert.ok(stopped.ok, `${stopped.status}: ${await stopped.text()}`);
  const { error } = await stopping;
  const took = Date.now() - at;
  const last = (await runner.inspect(agent)).at(-1);
  if (isCurrent) {
    assert.deepEqual([last.type, last.outcome], ["RUN_FINISHED", { type: "cancelled" }]);
  } else {
    assert.deepEqual([last.type, last.code, error.code], ["RUN_ERROR", "cancelled", "cancelled"]);
  }
  const { events } = await runner.run(agent, "say hello");
  assert.equal(events.at(-1).type, "RUN_FINISHED", "the thread can be used at once");
  return `ended after ${took} ms`;
}

async function regenerate() {
  const agent = newAgent();
  await runner.run(agent, "remember walrus");
  await runner.run(agent, "which word?");
  const [before, answer] = [agent.messages.slice(0, -1), agent.messages.at(-1)];
  agent.setMessages(before);
  await runner.start(agent);
  await runner.inspect(agent);
  assert.deepEqual(agent.messages.slice(0, -1).map(plain), before.map(plain));
  assert.equal(agent.messages.at(-1).content, answer.content);
  assert.notEqual(agent.messages.at(-1).id, answer.id, "it is another message");
  await sameForEverybody(agent);
}

async function edit() {
  const agent = newAgent();
  await runner.run(agent, "remember walrus");
  const before = agent.messages.slice();
  await runner.run(agent, "remember seal");
  agent.setMessages(before);
  await runner.run(agent, "which word?");
  assert.equal(agent.messages.at(-1).content, "The word is walrus.", "what was taken back is not known any more");
  await sameForEverybody(agent);
}

async function listShowAndForget() {
  const agent = newAgent();
  await runner.run(agent, "say hello");
  const of = (path, method = "GET") => call(method, `${demo}/threads${path}`);
  const path = `/${agent.threadId}`;
  const isListed = async () => (await (await of("")).text()).includes(agent.threadId);
  assert.ok(await isListed());
  const shown = await (await of(path)).json();
  assert.deepEqual(shown.messages.map(plain), agent.messages.map(plain));
  assert.ok((await of(path, "DELETE")).ok);
  assert.ok(!(await isListed()));
  assert.equal((await of(path)).status, 404);
  assert.equal((await of(path, "DELETE")).status, 404);
}

/** What a client that comes new to the thread is told is what this one has. */
async function sameForEverybody(agent) {
  const { messages } = await watch(hydrating(demo, agent.threadId));
  assert.deepEqual(messages, agent.messages.map(plain));
}

function newAgent() {
  return runner.newAgent(demo, token);
}

/** A client without messages, which asks for those of a thread. Keeps its exchange. */
function hydrating(url, threadId) {
  return keeping(url, threadId, (init) => init);
}

/** A client that can GET, as a page with an `EventSource` could. */
function watching(url, threadId) {
  const path = `${url}/threads/${threadId}/events?protocolVersion=${client.protocolVersion}`;
  return keeping(path, threadId, ({ headers: { authorization, Accept }, signal }) => (
    { method: "GET", headers: { authorization, Accept }, signal }
  ));
}

function keeping(url, threadId, initOf) {
  const agent = new client.HttpAgent({
    url,
    threadId,
    headers: { authorization: `Bearer ${token}` },
    async fetch(address, init) {
      const asked = initOf(init);
      const response = await fetch(address, asked);
      agent.exchange = exchangeOf(response, asked);
      agent.isGet = asked.method === "GET";
      return response;
    },
  });
  return agent;
}

/** Lets a client that has asked for nothing read to the end; resolves to `{messages, events, sent}`. */
async function watch(agent) {
  await within(WATCH_TIMEOUT, "end of what is watched", agent.runAgent({ runId: randomUUID() }));
  runner.assertQuiet();
  const { status, headers, sent, body } = agent.exchange;
  assert.equal(status, 200);
  assert.match(headers.get("content-type"), /^text\/event-stream/);
  if (sent) assert.deepEqual(sent.messages, []);
  const events = parseBody(await body, { ids: agent.isGet });
  events.forEach((event) => client.checkEvent(event));
  checkClient(agent);
  return { messages: agent.messages.map(plain), events, sent };
}

/** The first that a viewer is told: the state, what was said, and then what is open. */
function checkBeginning(events) {
  const types = events.slice(0, 4).map(({ type }) => type);
  assert.deepEqual(types, ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]);
}

/** What of a message everybody has to know alike. */
function plain({ id, role, content, toolCalls, toolCallId }) {
  return { id, role, content, toolCalls, toolCallId };
}

/** A run without a client; resolves to its events. */
async function post(run) {
  const body = { state: {}, tools: [], context: [], forwardedProps: {}, protocolVersion: client.protocolVersion, ...run };
  const response = await call("POST", demo, body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return parseBody(text);
}

function call(method, url, body) {
  const headers = { authorization: `Bearer ${token}`, ...(method === "POST" && { "content-type": "application/json" }) };
  return fetch(url, { method, headers, ...(method === "POST" && { body: JSON.stringify(body ?? {}) }) });
}

function textOf(events) {
  return events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
}
