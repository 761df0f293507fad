// An ACP client by hand: starts an agent, and hands every line that either side says to `log`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * Starts `{command, args, env}` in `cwd`. `log(from, value)` gets every message ("agent", "client"), every line
 * that is none ("stdout", "stderr"), and the process's end ("note").
 */
export function launch({ command, args, env }, cwd, log) {
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
  const pending = new Map();
  const waiting = new Set();
  let lastId = 0;
  const write = (message) => {
    log("client", message);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const agent = {
    child,
    /** The kind of option that is chosen when the agent asks for permission. */
    answer: "allow_once",
    /** How often the agent has asked for permission. */
    asked: 0,
    request(method, params) {
      const id = ++lastId;
      write({ id, method, params });
      return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
    },
    /** Like `request`, with `null` for an error. */
    attempt: (method, params) => agent.request(method, params).catch(() => null),
    notify: (method, params) => write({ method, params }),
    /** Resolves to the next message of the agent's with that method that `accept` takes. */
    next: (method, accept) => new Promise((resolve) => waiting.add({ method, accept, resolve })),
    exited: new Promise((resolve) => child.on("close", (code, signal) => {
      log("note", `exit code ${code} signal ${signal}`);
      pending.forEach(({ reject }) => reject(new Error("the agent has ended")));
      resolve();
    })),
  };
  child.stdin.on("error", () => {});
  createInterface({ input: child.stderr }).on("line", (line) => log("stderr", line));
  createInterface({ input: child.stdout }).on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return log("stdout", line);
    }
    log("agent", message);
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
      agent.asked += 1;
      const option = message.params.options.find(({ kind }) => kind === agent.answer);
      const outcome = option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
      write({ id: message.id, result: { outcome } });
    } else if (message.id !== undefined) {
      write({ id: message.id, error: { code: -32601, message: "method not found" } });
    }
  });
  return agent;
}
