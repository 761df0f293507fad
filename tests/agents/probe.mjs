// Drives one agent over ACP by hand and prints everything that is said, to see what it does before
// anything of ours stands in between:
//
//   node probe.mjs gemini|copilot
//
// Each line is milliseconds since the start, a direction, and the message (long strings cut).

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { startModelServer } from "./model-server.mjs";
import { below } from "./processes.mjs";

const agentName = process.argv[2] ?? "gemini";
const { prepare, tools } = await import(`./${agentName}/recipe.mjs`);
const started = Date.now();
const home = mkdtempSync(join(tmpdir(), "probe-home-"));
const cwd = mkdtempSync(join(tmpdir(), "probe-work-"));
writeFileSync(join(cwd, "note.txt"), "the note says hello\n");
const model = await startModelServer();
model.events.on("change", (record) => {
  const { id, path, results, chunks, closedAt, closedEarly } = record;
  log("model", JSON.stringify({ id, path, results, chunks, ended: closedAt !== null, closedEarly }));
});

await firstProcess();
await secondProcess();
await model.close();

async function firstProcess() {
  const agent = launch();
  await agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "probe", version: "0" },
  });
  const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] });
  agent.sessionId = sessionId;
  firstProcess.sessionId = sessionId;
  log("note", `descendants ${JSON.stringify(below(agent.child.pid))}`);
  await agent.prompt(`[[think:Weigh it.]][[say:Reading the note.]][[call:${call(tools.read(join(cwd, "note.txt")))}]][[say:It says hello.]]`);
  agent.answer = "allow_once";
  await agent.prompt(`[[call:${call(tools.shell("echo allowed; sleep 0.1"))}]][[say:The command ran.]]`);
  agent.answer = "reject_once";
  await agent.prompt(`[[call:${call(tools.shell("touch refused"))}]][[say:After the refusal.]]`);
  log("note", "a refusal ended this turn");

  const slow = agent.prompt("[[slow:200]][[say:one two three four five six seven eight nine ten eleven twelve]]");
  await agent.next("session/update", (params) => params.update.sessionUpdate === "agent_message_chunk");
  agent.notify("session/cancel", { sessionId });
  await slow;

  const running = agent.prompt(`[[call:${call(tools.shell("touch begun; sleep 30"))}]][[say:never]]`);
  agent.answer = "allow_once";
  await created("begun");
  log("note", `descendants ${JSON.stringify(below(agent.child.pid))}`);
  agent.notify("session/cancel", { sessionId });
  await running;
  log("note", `descendants ${JSON.stringify(below(agent.child.pid))}`);
  await agent.prompt("[[say:Still here.]]");
  agent.child.stdin.end();
  log("note", "stdin closed");
  await agent.exited;
}

async function secondProcess() {
  // Gemini names its record of a session after the minute, and a load within the minute of the session's
  // start empties it.
  if (agentName === "gemini") await pause(60_000 - (Date.now() % 60_000));
  const agent = launch();
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  await agent.request("session/load", { sessionId: firstProcess.sessionId, cwd, mcpServers: [] });
  agent.sessionId = firstProcess.sessionId;
  await agent.prompt("[[say:Loaded.]]");
  const last = model.requests.filter((request) => request.script !== "").at(-1);
  log("note", `earlier turn in the request: ${JSON.stringify(last.body).includes("Reading the note.")}`);
  const slow = agent.prompt("[[slow:200]][[say:one two three four five six seven eight nine ten eleven twelve]]");
  await agent.next("session/update", (params) => params.update.sessionUpdate === "agent_message_chunk");
  const rest = below(agent.child.pid).map(({ pid }) => pid);
  agent.child.kill("SIGTERM");
  log("note", "SIGTERM in mid-stream, to the direct child only");
  await Promise.race([agent.exited, pause(8_000)]);
  log("note", `still alive: ${JSON.stringify(rest.filter((pid) => existsSync(`/proc/${pid}`)))}`);
  slow.catch(() => {});
  [agent.child.pid, ...rest].filter((pid) => existsSync(`/proc/${pid}`)).forEach((pid) => process.kill(pid, "SIGKILL"));
}

function launch() {
  const { command, args, env } = prepare(home, model.port);
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const pending = new Map();
  const waiting = new Set();
  let lastId = 0;
  const write = (message) => {
    log("-->", cut(message));
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const agent = {
    child,
    answer: "allow_once",
    request(method, params) {
      const id = ++lastId;
      write({ id, method, params });
      return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
    },
    notify: (method, params) => write({ method, params }),
    prompt: (text) => agent.request("session/prompt", { sessionId: agent.sessionId, prompt: [{ type: "text", text }] }),
    next: (method, accept) => new Promise((resolve) => waiting.add({ method, accept, resolve })),
    exited: new Promise((resolve) => child.on("close", (code, signal) => {
      log("note", `exit code ${code} signal ${signal}`);
      resolve();
    })),
  };
  createInterface({ input: child.stderr }).on("line", (line) => log("err", line.slice(0, 200)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return log("out", line.slice(0, 200));
    }
    log("<--", cut(message));
    if (message.method === undefined) {
      const { resolve, reject } = pending.get(message.id);
      return message.error ? reject(new Error(JSON.stringify(message.error))) : resolve(message.result);
    }
    for (const waiter of waiting) {
      if (waiter.method === message.method && waiter.accept(message.params)) {
        waiting.delete(waiter);
        waiter.resolve(message.params);
      }
    }
    if (message.method === "session/request_permission") {
      const option = message.params.options.find((candidate) => candidate.kind === agent.answer);
      write({ id: message.id, result: { outcome: { outcome: "selected", optionId: option.optionId } } });
    } else if (message.id !== undefined) {
      write({ id: message.id, error: { code: -32601, message: "method not found" } });
    }
  });
  return agent;
}

/** Resolves when a file of that name appears in the working directory. */
function created(name) {
  return new Promise((resolve) => {
    const watcher = watch(cwd, (_event, file) => {
      if (file !== name) return;
      watcher.close();
      resolve();
    });
  });
}

function call([name, args]) {
  return `${name} ${JSON.stringify(args)}`;
}

function cut(message) {
  return JSON.stringify(message, (_key, value) => (typeof value === "string" && value.length > 160 ? `${value.slice(0, 160)}…` : value));
}

function log(kind, text) {
  console.log(`${String(Date.now() - started).padStart(6)} ${kind.padEnd(5)} ${text}`);
}
