// What is asked of every agent when it needs the page or a person: a tool of the page, permission, a question. The
// run ends, and the next one on the thread brings the answer.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** How long the page takes for its tool. Most agents give up on silent tools within a minute. */
const PAGE_TAKES = Number(process.env.AGUI_PAGE_SECONDS ?? 90) * 1_000;
/** How long a person has in the one check in which nobody answers. */
const PATIENCE = 2_000;

/** The daemon's settings: all conversations are in one process. */
export const settings = { pool_size: 1 };

const PAINT = tool("paint_wall", "Paints a wall of the room");
const LIGHT = tool("switch_light", "Switches a light of the room");

export const checks = {
  async "tool-of-the-page-answered-late"(bench) {
    const client = bench.newClient();
    const tools = [PAINT];
    const script = `[[say:Painting it now.]]${callOf(PAINT, { colour: "red", coats: 2 })}[[say:It is painted.]]`;
    const { seen, events } = await bench.runner.run(client, script, { tools, open: 1 });
    assert.deepEqual(events.at(-1).outcome, { type: "success", pendingToolCallIds: seen.pending });
    assert.equal(seen.pending.length, 1);
    const [call] = seen.pending;
    assert.deepEqual(callsOf(events), [
      { id: call, name: PAINT.name, args: { colour: "red", coats: 2 }, isClosed: true, results: [] },
    ]);
    const before = events.slice(0, events.findIndex(({ type }) => type === "TOOL_CALL_START"));
    assert.equal(textOf(bench, before), "Painting it now.", "what is said before the call");
    assert.equal(textOf(bench, events), "Painting it now.", "nothing is said while the page works");
    await pause(PAGE_TAKES);
    const word = newWord();
    respond(client, call, `painted, says the page: ${word}`);
    const at = Date.now();
    const after = await bench.runner.goOn(client, { tools });
    assert.deepEqual(callsOf(after.events), [], "no word of the call in the run that goes on");
    assert.equal(textOf(bench, after.events), "It is painted.");
    assertFree(after.events);
    assert.deepEqual(resultsOf(bench, script).map((text) => text.includes(word)), [true], "the result the model has");
    return `answered after ${PAGE_TAKES / 1_000} s, done ${Date.now() - at} ms later`;
  },

  async "other-tools-in-every-run"(bench) {
    const client = bench.newClient();
    const { events } = await bench.runner.run(client, "[[say:No tool is here.]]");
    assertFree(events);
    const offered = (text) => bench.modelCall(text).tools.filter((name) => /paint_wall|switch_light/.test(name));
    assert.deepEqual(offered("No tool is here."), []);
    const took = [];
    for (const tools of [[PAINT], [LIGHT], [PAINT, LIGHT], []]) {
      const word = newWord();
      const at = Date.now();
      const calls = tools.slice(-1);
      const script = `${calls.map((one) => callOf(one, { word }))}[[say:After ${word}.]]`;
      const { seen } = await bench.runner.run(client, script, { tools, open: calls.length });
      took.push(Date.now() - at);
      const names = offered(word);
      if (!bench.recipe.keepsTools) assert.equal(names.length, tools.length, `${names}`);
      assert.ok(tools.every(({ name }) => names.some((full) => full.endsWith(name))), `${names}`);
      if (calls.length > 0) {
        respond(client, seen.pending[0], `done: ${word}`);
        await bench.runner.goOn(client, { tools });
        assert.match(resultsOf(bench, script).join(), new RegExp(`done: ${word}`));
      }
      assert.equal(bench.texts(client).at(-1), `After ${word}.`);
    }
    const gone = `${callOf(PAINT, { colour: "grey" })}[[say:It cannot be painted.]]`;
    assertFree((await bench.runner.run(client, gone, { tools: [] })).events);
    assert.equal(bench.texts(client).at(-1), "It cannot be painted.");
    assert.equal(resultsOf(bench, gone).length, 1);
    return `${took.join(", ")} ms`;
  },

  async "typed-over-a-tool-of-the-page"(bench) {
    const client = bench.newClient();
    const tools = [PAINT];
    const script = `${callOf(PAINT, { colour: "green" })}[[say:Then not.]]`;
    await bench.runner.run(client, script, { tools, open: 1 });
    const { events } = await bench.runner.run(client, "[[say:Something else.]]", { tools, open: 1 });
    assertFree(events);
    assert.equal(bench.texts(client).at(-1), "Something else.");
    assert.match(resultsOf(bench, script).join(), /not executed/);
  },

  async "permission-given"(bench) {
    const { client, path, call, interrupt } = await askPermission(bench, "given");
    const { events } = await bench.runner.goOn(client, { resume: [yes(interrupt)] });
    assertFree(events);
    assert.ok(existsSync(path), "it was allowed to make the file");
    const { content } = assertResumed(events, call);
    if (bench.recipe.tellsResults !== false) assert.match(content, /given\.txt/, "what the command has printed");
    assert.equal(bench.texts(client).at(-1), "After that.");
  },

  async "permission-denied"(bench) {
    const { client, path, call, interrupt } = await askPermission(bench, "denied");
    const { events } = await bench.runner.goOn(client, { resume: [no(interrupt)] });
    assertFree(events);
    assertResumed(events, call);
    assert.ok(!existsSync(path), "it was not allowed to make the file");
    const next = await bench.runner.run(client, "[[say:Good that I asked.]]");
    assertFree(next.events);
    assert.equal(bench.texts(client).at(-1), "Good that I asked.");
  },

  async "question-answered"(bench) {
    const client = bench.newClient();
    const colours = ["Blue", "Green"].map((label) => ({ label, description: `It will be ${label}` }));
    const questions = [{ question: "Which colour?", header: "Colour", multiSelect: false, options: colours }];
    const script = `[[call:*AskUserQuestion ${JSON.stringify({ questions })}]][[say:As you like.]]`;
    const { events } = await bench.runner.run(client, script, { open: 1 });
    const [interrupt] = interruptsOf(events);
    assert.equal(interrupt.reason, "pando:question");
    const word = newWord();
    const payload = answerTo(interrupt, word);
    const after = await bench.runner.goOn(client, { resume: [{ ...yes(interrupt), payload }] });
    assertFree(after.events);
    assert.deepEqual(after.events.filter(({ type }) => type === "TOOL_CALL_START"), []);
    assert.equal(bench.texts(client).at(-1), "As you like.");
    assert.match(resultsOf(bench, script).join(), new RegExp(word));
  },

  async "permission-nobody-gives"(bench) {
    await bench.startDaemon({ ...settings, prompt_timeout: `${PATIENCE}ms` });
    const { client, path, interrupt } = await askPermission(bench, "expired");
    await pause(2 * PATIENCE);
    await untilOver(bench, client);
    assert.ok(!existsSync(path), "nobody has allowed the file");
    const late = await bench.runner.goOn(client, { resume: [yes(interrupt)] });
    await pause(PATIENCE);
    assert.ok(!existsSync(path), "it is too late to allow it");
    assertFree(late.events);
    const next = await bench.runner.run(client, "[[say:Nobody was there.]]");
    assertFree(next.events);
    assert.equal(bench.texts(client).at(-1), "Nobody was there.");
    const notices = [...late.events, ...next.events].filter(({ name }) => name === "pando.interrupt_expired");
    assert.equal(notices.length, 1);
  },
};

/** Has the agent ask whether it may make a file; resolves to `{client, path, call, interrupt}` once it has. */
async function askPermission(bench, name) {
  const path = join(bench.workdir, `${name}.txt`);
  const client = bench.newClient();
  const script = `${bench.call("shell", `touch ${name}.txt && ls ${name}.*`)}[[say:After that.]]`;
  const { events } = await bench.runner.run(client, script, { open: 1 });
  const [interrupt] = interruptsOf(events);
  assert.equal(interrupt.reason, "pando:permission");
  assert.ok(!existsSync(path), "nobody has allowed it yet");
  const [call, ...others] = callsOf(events);
  assert.deepEqual(others, []);
  assert.deepEqual([call.id, call.isClosed, call.results], [interrupt.toolCallId, true, []]);
  return { client, path, call, interrupt };
}

/** Resolves once nothing runs on the thread of a client. */
async function untilOver(bench, { threadId }) {
  const headers = { authorization: `Bearer ${bench.token}` };
  const response = await fetch(`${bench.daemon.url}/threads/${threadId}/events`, { headers });
  await response.text();
}

/** Checks that a run goes on with a call which was opened in the run before, and answers with its result. */
function assertResumed(events, { id }) {
  assert.deepEqual(events.slice(0, 2).map(({ type }) => type), ["RUN_STARTED", "STATE_SNAPSHOT"]);
  const parts = events.filter(({ type }) => type.startsWith("TOOL_CALL_"));
  assert.deepEqual(parts.map(({ type, toolCallId }) => [type, toolCallId]), [["TOOL_CALL_RESULT", id]]);
  return parts[0];
}

/** Checks that nothing is open any more. */
function assertFree(events) {
  const { type, outcome } = events.at(-1);
  assert.equal(type, "RUN_FINISHED", JSON.stringify(events.at(-1)));
  assert.deepEqual(outcome, { type: "success" });
}

function interruptsOf(events) {
  const { outcome } = events.at(-1);
  assert.equal(outcome?.type, "interrupt", JSON.stringify(events.at(-1)));
  assert.equal(outcome.interrupts.length, 1);
  return outcome.interrupts;
}

/** The calls of a run in their order. */
function callsOf(events) {
  const of = (id, kind) => events.filter(({ type, toolCallId }) => type === `TOOL_CALL_${kind}` && toolCallId === id);
  const ids = new Set(events.filter(({ type }) => type.startsWith("TOOL_CALL_")).map(({ toolCallId }) => toolCallId));
  return [...ids].map((id) => ({
    id,
    name: of(id, "START")[0]?.toolCallName,
    args: parse(of(id, "ARGS").map(({ delta }) => delta).join("")),
    isClosed: of(id, "END").length === 1,
    results: of(id, "RESULT").map(({ content }) => content),
  }));
}

/** What the model was told of the calls in a script, the last time that it was asked. */
function resultsOf(bench, script) {
  const asked = bench.model.requests.filter((request) => request.script.includes(script));
  return asked.findLast(({ results }) => results.length > 0)?.results ?? [];
}

/** What the agent says in events, message after message, without what it says of itself. */
function textOf(bench, events) {
  const said = events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT");
  const ids = [...new Set(said.map(({ messageId }) => messageId))];
  const texts = ids.map((id) => said.filter(({ messageId }) => messageId === id).map(({ delta }) => delta).join(""));
  return texts.filter((text) => !bench.recipe.chatter?.test(text)).join("|");
}

/** Answers a question in the form that it has: by our own tool's, or one of the agent's. */
function answerTo({ metadata, responseSchema }, word) {
  if (metadata?.pando?.questions) return { answers: [{ questionId: "q1", selected: ["Blue"], otherText: word }] };
  const free = Object.entries(responseSchema.properties).filter(([, { type, enum: few, oneOf }]) => type === "string" && !few && !oneOf);
  assert.equal(free.length, 1, JSON.stringify(responseSchema));
  return { [free[0][0]]: word };
}

function respond(client, toolCallId, content) {
  client.addMessage({ id: randomUUID(), role: "tool", toolCallId, content });
}

function yes({ id }) {
  return { interruptId: id, status: "resolved", payload: { approved: true } };
}

function no({ id }) {
  return { interruptId: id, status: "resolved", payload: { approved: false } };
}

function tool(name, description) {
  return { name, description, parameters: { type: "object", properties: { colour: { type: "string" } } } };
}

/** The script of a call of a tool of the page, whatever the agent puts before its name. */
function callOf({ name }, args) {
  return `[[call:*${name} ${JSON.stringify(args)}]]`;
}

function parse(text) {
  return text === "" ? undefined : JSON.parse(text);
}

function newWord() {
  return `word-${randomUUID().slice(0, 8)}`;
}
