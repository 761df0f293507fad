// Drives one agent over ACP by hand, to see what it does before anything of ours stands in between:
//
//   node probe.mjs AGENT [FILE]
//
// Prints a line for everything that is said: milliseconds since the start, who, and the message (long strings
// cut). With FILE, the same goes there uncut, as JSON lines `{ms, from, message}`; record.mjs makes the
// transcripts of the tests from it.

import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, watch, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { launch } from "./acp-peer.mjs";
import { startModelServer } from "./model-server.mjs";
import { below } from "./processes.mjs";

/** How long an agent may take for one step of the script. */
const STEP_WITHIN = 90_000;
/** How long after a prompt's answer late updates are waited for. */
const LATE = 700;
/** What the daemon offers to an agent: neither files nor terminals. */
const INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  clientInfo: { name: "probe", version: "0" },
};
const SLOW = "[[slow:200]][[say:one two three four five six seven eight nine ten eleven twelve]]";

const [agentName = "gemini", file] = process.argv.slice(2);
const { prepare, tools, askingMode, forgetsWithinTheMinute } = await import(`./${agentName}/recipe.mjs`);
const raw = file === undefined ? null : openSync(file, "w");
const started = Date.now();
const home = mkdtempSync(join(tmpdir(), "probe-home-"));
const cwd = mkdtempSync(join(tmpdir(), "probe-work-"));
writeFileSync(join(cwd, "note.txt"), "the note says hello\n");
const model = await startModelServer();
model.events.on("change", (record) => {
  const { id, path, results, chunks, closedAt, closedEarly } = record;
  log("model", { id, path, tools: record.tools.join(" "), results: results.length, chunks, ended: closedAt !== null, closedEarly });
});
log("note", { directories: { home, cwd } });

let agent;
let known;
try {
  await firstProcess();
  await secondProcess();
} catch (error) {
  log("note", `stopped: ${error.stack}`);
  process.exitCode = 1;
} finally {
  [agent.child.pid, ...below(agent.child.pid).map(({ pid }) => pid)].forEach(kill);
  await model.close();
  rmSync(home, { recursive: true, force: true });
  rmSync(cwd, { recursive: true, force: true });
}

async function firstProcess() {
  agent = start();
  const { agentCapabilities } = await step("initialize", () => agent.request("initialize", INITIALIZE));
  const opened = await step("session/new", () => agent.request("session/new", { cwd, mcpServers: [] }));
  const { sessionId } = opened;
  known = { sessionId, agentCapabilities };
  await pause(LATE);
  tellProcesses();
  if (askingMode !== undefined) await step("the asking mode", () => setMode(opened, askingMode));

  const note = join(cwd, "note.txt");
  await say("text, a thought, a tool that reads", sessionId, `[[think:Weigh it.]][[say:Reading the note.]]${call(tools.read(note))}[[say:It says hello.]]`);
  await say("an edit, allowed", sessionId, `${call(tools.edit(note, "the note says hello", "the note says goodbye"))}[[say:Changed.]]`);
  log("note", { note: readFileSync(note, "utf8") });
  await say("a new file, allowed", sessionId, `${call(tools.create(join(cwd, "new.txt"), "first line\nsecond line\n"))}[[say:Written.]]`);
  log("note", { created: existsSync(join(cwd, "new.txt")) });
  await say("a command, allowed", sessionId, `${call(tools.shell("echo allowed; echo >&2 warned; sleep 0.1"))}[[say:The command ran.]]`);
  await say("a command that fails", sessionId, `${call(tools.shell("echo broken; exit 3"))}[[say:The command failed.]]`);
  agent.answer = "reject_once";
  await say("a command, refused", sessionId, `${call(tools.shell("touch refused"))}[[say:After the refusal.]]`);
  log("note", { refusedRan: existsSync(join(cwd, "refused")) });
  await say("an edit, refused", sessionId, `${call(tools.edit(note, "the note says goodbye", "the note says no"))}[[say:After the second refusal.]]`);
  log("note", { note: readFileSync(note, "utf8") });
  agent.answer = "allow_once";

  await step("cancel in mid-stream", async () => {
    const slow = prompt(sessionId, SLOW);
    await agent.next("session/update", isFirstWord);
    agent.notify("session/cancel", { sessionId });
    await slow;
  });
  await step("cancel while a command runs", async () => {
    const running = prompt(sessionId, `${call(tools.shell("touch begun; sleep 30"))}[[say:never]]`);
    await Promise.race([created("begun"), running]);
    tellProcesses();
    agent.notify("session/cancel", { sessionId });
    await running;
    tellProcesses();
  });
  await say("after the cancels", sessionId, "[[say:Still here.]]");

  const second = await step("a second session", () => agent.request("session/new", { cwd, mcpServers: [] }));
  if (askingMode !== undefined) await step("its asking mode", () => setMode(second, askingMode));
  known.second = second.sessionId;
  await step("two sessions at once", () => Promise.all([
    prompt(sessionId, `[[slow:100]][[say:apple apple apple apple]]${call(tools.read(note))}[[say:apple apple]]`),
    prompt(second.sessionId, `[[slow:100]][[say:pear pear pear pear]]${call(tools.read(note))}[[say:pear pear]]`),
  ]));
  tellProcesses();
  await settings(opened);
  if (askingMode !== undefined) await step("the asking mode again", () => setMode(opened, askingMode));
  await say("a command after all the settings", sessionId, `${call(tools.shell("echo set"))}[[say:The command ran.]]`);
  agent.child.stdin.end();
  log("note", "stdin closed");
  await Promise.race([agent.exited, pause(8_000)]);
}

async function secondProcess() {
  [agent.child.pid].filter((pid) => existsSync(`/proc/${pid}`)).forEach(kill);
  // A record of a session that is named after the minute: a load within the minute of the session's start
  // empties it.
  if (forgetsWithinTheMinute) await pause(60_000 - (Date.now() % 60_000));
  agent = start();
  const { sessionId, second, agentCapabilities } = known;
  await step("initialize", () => agent.request("initialize", INITIALIZE));
  if (agentCapabilities.loadSession) {
    await step("session/load", () => agent.attempt("session/load", { sessionId, cwd, mcpServers: [] }));
    await say("a prompt after the load", sessionId, "[[say:Loaded.]]");
    tellMemory("Loaded.", "Reading the note.");
    await step("session/load of an unknown one", () => agent.attempt("session/load", {
      sessionId: "00000000-0000-4000-8000-000000000000", cwd, mcpServers: [],
    }));
  }
  if (agentCapabilities.sessionCapabilities?.resume) {
    await step("session/resume", () => agent.attempt("session/resume", { sessionId: second, cwd, mcpServers: [] }));
    await say("a prompt after the resume", second, "[[say:Resumed.]]");
    tellMemory("Resumed.", "pear pear pear pear");
  }
  if (agentCapabilities.sessionCapabilities?.list) await step("session/list", () => agent.attempt("session/list", { cwd }));
  if (agentCapabilities.sessionCapabilities?.close) {
    await step("session/close", () => agent.attempt("session/close", { sessionId: second }));
    await step("a prompt to a closed session", () => agent.attempt("session/prompt", promptOf(second, "[[say:Closed.]]")));
  }
  await step("SIGTERM in mid-stream, to the direct child only", async () => {
    const slow = prompt(sessionId, SLOW);
    await agent.next("session/update", isFirstWord);
    const rest = below(agent.child.pid).map(({ pid }) => pid);
    agent.child.kill("SIGTERM");
    await Promise.race([slow.catch(() => {}), pause(8_000)]);
    await Promise.race([agent.exited, pause(8_000)]);
    log("note", { alive: rest.filter((pid) => existsSync(`/proc/${pid}`)) });
    rest.forEach(kill);
  });
}

/** Changes every mode, model and option there is to another value and back. */
async function settings(opened) {
  const { sessionId, modes, models, configOptions } = opened;
  if (modes) {
    const { availableModes, currentModeId } = modes;
    for (const { id } of [...availableModes.filter(({ id }) => id !== currentModeId), { id: "no-such-mode" }, { id: currentModeId }]) {
      await step(`session/set_mode ${id}`, () => agent.attempt("session/set_mode", { sessionId, modeId: id }));
    }
  }
  if (models) {
    const { availableModels, currentModelId } = models;
    const other = availableModels.find(({ modelId }) => modelId !== currentModelId)?.modelId;
    for (const modelId of [other, "no-such-model", currentModelId]) {
      if (modelId !== undefined) await step(`session/set_model ${modelId}`, () => agent.attempt("session/set_model", { sessionId, modelId }));
    }
  }
  for (const { id: configId, type, currentValue, options } of configOptions ?? []) {
    const values = type === "boolean" ? [true, false] : options.flatMap((option) => option.options ?? [option]).map(({ value }) => value);
    const others = values.filter((value) => value !== currentValue).slice(0, 2);
    for (const value of [...others, "no-such-value", currentValue]) {
      const params = { sessionId, configId, value, ...(type === "boolean" && { type }) };
      await step(`session/set_config_option ${configId} ${value}`, () => agent.attempt("session/set_config_option", params));
    }
  }
}

function setMode({ sessionId, modes, configOptions }, mode) {
  if (modes) return agent.request("session/set_mode", { sessionId, modeId: mode });
  const { id: configId } = configOptions.find(({ category }) => category === "mode");
  return agent.request("session/set_config_option", { sessionId, configId, value: mode });
}

/** Does one step of the script and waits for what comes late. */
async function step(what, run) {
  log("note", `> ${what}`);
  const result = await Promise.race([run(), pause(STEP_WITHIN, "late", { ref: false })]);
  if (result === "late") throw new Error(`no end of ${what}`);
  log("note", `< ${what}`);
  await pause(LATE);
  return result;
}

function say(what, sessionId, text) {
  return step(what, () => prompt(sessionId, text));
}

function prompt(sessionId, text) {
  return agent.request("session/prompt", promptOf(sessionId, text));
}

function promptOf(sessionId, text) {
  return { sessionId, prompt: [{ type: "text", text }] };
}

function start() {
  return launch(prepare(home, model.port, { mayEdit: false }), cwd, log);
}

/** Of the slow answer: some agents put words of their own before it. */
function isFirstWord({ update }) {
  return update.sessionUpdate === "agent_message_chunk" && update.content.text.startsWith("one");
}

function call([name, args]) {
  return `[[call:${name} ${JSON.stringify(args)}]]`;
}

/** Resolves when a file of that name appears in the working directory. */
function created(name) {
  return new Promise((resolve) => {
    const watcher = watch(cwd, (_event, changed) => {
      if (changed !== name) return;
      watcher.close();
      resolve();
    });
  });
}

function tellProcesses() {
  log("note", { processes: below(agent.child.pid) });
}

/** Whether the model, when it was asked for `prompt`, was told `earlier`. */
function tellMemory(prompt, earlier) {
  const asked = model.requests.filter(({ script }) => script.includes(prompt));
  log("note", { remembers: asked.some(({ body }) => JSON.stringify(body).includes(earlier)) });
}

function kill(pid) {
  if (existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
}

function log(from, message) {
  const ms = Date.now() - started;
  if (raw !== null) writeSync(raw, `${JSON.stringify({ ms, from, message })}\n`);
  const cut = (_key, value) => (typeof value === "string" && value.length > 160 ? `${value.slice(0, 160)}…` : value);
  console.log(`${String(ms).padStart(6)} ${from.padEnd(6)} ${JSON.stringify(message, cut)}`);
}
