// Kills a daemon of its own while something waits for an answer, and comes back with the stock `HttpAgent` of one
// folder:
//
//   AGUI_SERVE=target/debug/agui-serve node restart.mjs v1.0.0

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { answer, createAsker, noticesOf, textOf, yes } from "./asker.mjs";
import { check, finish, within } from "./report.mjs";

const START_TIMEOUT = 10_000;

const folder = process.argv[2];
const token = randomUUID();
const home = mkdtempSync(join(tmpdir(), "agui-"));
let daemon;
const asker = await createAsker(folder, () => daemon?.url ?? "http://127.0.0.1", token);
const { runner, newAgent, post, hydrate, isCurrent } = asker;

const checks = {
  "nothing-is-open-after-a-restart": nothingIsOpen,
  "an-answer-alone": answerAlone,
  "an-answer-beside-a-message": answerAndMessage,
  "an-answer-that-was-taken-before": takenBefore,
  "a-message-alone": messageAlone,
  "a-tool-of-the-page": toolOfThePage,
};
daemon = await start();
for (const [name, run] of Object.entries(asker.knowsInterrupts ? checks : {})) {
  runner.forgive();
  await check(`${folder} ${name}`, run);
}
if (!asker.knowsInterrupts) await check(`${folder} a-message-alone`, messageAlone);
await kill();
rmSync(home, { recursive: true });
finish();

async function nothingIsOpen() {
  const agent = await interrupted();
  await restart(agent);
  if (!isCurrent) return;
  const after = await hydrate(agent.threadId, 1);
  assert.deepEqual(after.pendingInterrupts, []);
  assert.deepEqual(after.messages.map(({ id }) => id), agent.messages.map(({ id }) => id));
  const { events } = await runner.run(after, "say hello", { open: 1 });
  assert.equal(events.at(-1).type, "RUN_FINISHED");
}

/** The client is told in the chat, and free again. */
async function answerAlone() {
  const agent = await interrupted();
  await restart(agent);
  const resume = agent.pendingInterrupts.map(yes);
  const { events } = await runner.goOn(agent, { resume, open: 1 });
  assert.deepEqual(events.at(-1).outcome, { type: "success" });
  assert.deepEqual(agent.pendingInterrupts, []);
  assert.ok(noticesOf(events).includes("pando.interrupt_lost"));
  assert.ok(!events.some(({ type }) => type === "TOOL_CALL_RESULT"), "nothing was done");
  assert.match(agent.messages.at(-1).content, /was lost when the daemon ended/);
  await runner.run(agent, "say hello", { open: 1 });
}

async function answerAndMessage() {
  const agent = await interrupted();
  await restart(agent);
  const { events } = await runner.run(agent, "say hello", { resume: agent.pendingInterrupts.map(yes), open: 1 });
  assert.ok(noticesOf(events).includes("pando.interrupt_lost"));
  assertFree(agent, events);
  await runner.run(agent, "say hello", { open: 1 });
}

async function takenBefore() {
  const agent = await interrupted();
  const { threadId } = agent;
  const [asked] = agent.pendingInterrupts;
  await runner.goOn(agent, { resume: [yes(asked)] });
  await restart(agent);
  const again = await post({ threadId, resume: [yes(asked)] });
  const told = again.find(({ type }) => type === "MESSAGES_SNAPSHOT").messages;
  assert.deepEqual(told.map(({ id }) => id), agent.messages.map(({ id }) => id));
  assert.equal(again.at(-1).type, "RUN_FINISHED");
  const no = answer(asked, { payload: { approved: false } });
  const other = await post({ threadId, resume: [no] }, 409);
  assert.equal(other.error.code, "already_answered");
}

/** A client that knows of no interrupt, or not of this one. */
async function messageAlone() {
  const agent = await interrupted();
  await restart(agent);
  const { threadId } = agent;
  const messages = [...agent.messages, { id: randomUUID(), role: "user", content: "say hello" }];
  const events = await post({ threadId, messages });
  assert.match(textOf(events), /^Hello!/);
}

async function toolOfThePage() {
  const agent = newAgent();
  const tools = [{ name: "openRecord", description: "", parameters: { type: "object" } }];
  const { events } = await runner.run(agent, "open record 42", { tools, open: 1 });
  const { toolCallId } = events.find(({ type }) => type === "TOOL_CALL_START");
  await restart(agent);
  agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content: "opened" });
  const { events: told } = await runner.goOn(agent, { tools, open: 1 });
  assert.ok(noticesOf(told).includes("pando.interrupt_lost"));
  const { events: next } = await runner.run(agent, "say hello", { tools, open: 1 });
  assert.match(textOf(next), /^Hello!/);
}

async function interrupted() {
  const agent = newAgent();
  const { events } = await runner.run(agent, "ask permission", { open: 1 });
  assert.equal(events.at(-1).outcome.type, "interrupt");
  return agent;
}

function assertFree(agent, events) {
  assert.match(textOf(events), /^Hello!/);
  assert.equal(events.at(-1).type, "RUN_FINISHED");
  assert.deepEqual(agent.pendingInterrupts, []);
}

/** The daemon dies as it stands, and another one takes its place. */
async function restart(agent) {
  await kill();
  daemon = await start();
  agent.url = daemon.url;
}

async function start() {
  const child = spawn(process.env.AGUI_SERVE, ["--port", "0", "--log", "error"], {
    env: { HOME: home, AGUI_TOKEN: token, AGUI_AGENTS__DEMO__CORE: "demo" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const address = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, url] = line.match(/^listening on (.*)/) ?? [];
      if (url) resolve(`${url}/demo`);
    });
    exited.then(([code]) => reject(new Error(`the daemon ended at once, with ${code}`)));
  });
  return { url: await within(START_TIMEOUT, "address from the daemon", address), child, exited };
}

async function kill() {
  daemon.child.kill("SIGKILL");
  await daemon.exited;
}
