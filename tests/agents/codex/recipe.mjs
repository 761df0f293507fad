// Codex as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The mode in which it asks the user: without it, a model decides. */
export const askingMode = "workspace-write";

/** What it says of itself at the start of every turn, because it does not know the model. */
export const chatter = /^Warning: Model metadata/;

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["exec_command", { cmd: `cat ${path}` }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["exec_command", { cmd: command, sandbox_permissions: "require_escalated", justification: "run a command" }],
  /** Runs a command without asking anybody, in its sandbox. */
  unasked: (command) => ["exec_command", { cmd: command, yield_time_ms: 60_000 }],
  /** Replaces a line of a file. */
  edit: (path, before, after) => patch(`*** Update File: ${path}`, "@@", `-${before}`, `+${after}`),
  /** Writes a file that is not there yet. */
  create: (path, text) => patch(`*** Add File: ${path}`, ...text.trimEnd().split("\n").map((line) => `+${line}`)),
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. It changes files of its working directory without asking.
 */
export function prepare(dir, modelPort) {
  const config = join(dir, ".codex");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "config.toml"), [
    'model = "mock"',
    'model_provider = "scripted"',
    "check_for_update_on_startup = false",
    "[analytics]",
    "enabled = false",
    "[model_providers.scripted]",
    'name = "Scripted"',
    `base_url = "http://127.0.0.1:${modelPort}/v1"`,
    'wire_api = "responses"',
    'env_key = "SCRIPTED_KEY"',
    "",
  ].join("\n"));
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL("node_modules/@agentclientprotocol/codex-acp/dist/index.js", import.meta.url))],
    env: { HOME: dir, PATH: process.env.PATH, CODEX_HOME: config, SCRIPTED_KEY: "scripted", NO_BROWSER: "1" },
  };
}

/** A patch as a command, in which the agent recognises it; as a tool it offers it only to models that it knows. */
function patch(...lines) {
  return ["exec_command", { cmd: ["apply_patch <<'EOF'", "*** Begin Patch", ...lines, "*** End Patch", "EOF", ""].join("\n") }];
}
