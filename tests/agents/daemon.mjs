// The daemon under test, with one ACP agent behind it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { within } from "../clients/report.mjs";

const START_TIMEOUT = 10_000;
const STOP_TIMEOUT = 15_000;
const KEPT_LINES = 40;

/**
 * Starts `program` on a free port with `agent` as its only agent (`{name, …}`: the keys of its section, `env` among them) and
 * with `settings` for it, and resolves to `{url, child, exited, log}` once it has printed where it serves. `dir`
 * becomes its home.
 */
export async function startDaemon(program, dir, agent, settings, token) {
  mkdirSync(dir, { recursive: true });
  const config = join(dir, "agui.toml");
  writeFileSync(config, configOf(agent, settings));
  const child = spawn(program, ["--port", "0", "--config", config], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, AGUI_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = [];
  const keep = (line) => {
    log.push(line);
    if (log.length > KEPT_LINES) log.shift();
  };
  const exited = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  createInterface({ input: child.stderr }).on("line", keep);
  const address = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      keep(line);
      const [url] = line.match(new RegExp(`http://127\\.0\\.0\\.1:\\d+/\\S*/${agent.name}\\b`)) ?? [];
      if (url) resolve(url);
    });
    child.on("error", reject);
    exited.then((end) => reject(new Error(`the daemon ended at once: ${JSON.stringify(end)}\n${log.join("\n")}`)));
  });
  return { url: await within(START_TIMEOUT, "address from the daemon", address), child, exited, log };
}

/** Sends the signal and resolves to `{code, signal}`. */
export function stopDaemon(daemon, signal = "SIGTERM") {
  daemon.child.kill(signal);
  return within(STOP_TIMEOUT, "end of the daemon", daemon.exited);
}

function configOf({ name, env = {}, ...keys }, settings) {
  // JSON is TOML where it is a string, a number, or an array of such.
  const lines = (table) => Object.entries(table).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [
    'shutdown_grace = "1s"',
    `[agents.${name}]`,
    ...lines({ ...keys, ...settings }),
    ...(Object.keys(env).length > 0 ? [`env = { ${lines(env).join(", ")} }`] : []),
    "",
  ].join("\n");
}
