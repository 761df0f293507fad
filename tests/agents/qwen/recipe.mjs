// Qwen Code as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { newerNode } from "../node24/path.mjs";

/** The mode in which it asks the user: without it, a model decides. */
export const askingMode = "default";

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["read_file", { file_path: path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["run_shell_command", { command, is_background: false, description: "run a command" }],
  /** Replaces a text in a file. */
  edit: (path, before, after) => ["edit", { file_path: path, old_string: before, new_string: after }],
  /** Writes a file that is not there yet. */
  create: (path, text) => ["write_file", { file_path: path, content: text }],
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. Only with `mayEdit` it changes files without asking.
 */
export function prepare(dir, modelPort, { mayEdit }) {
  const config = join(dir, ".qwen");
  mkdirSync(config, { recursive: true });
  // The one command that needs no permission: a test of what is left behind has to start something.
  const allow = ["Bash(tail *)", ...(mayEdit ? ["Edit", "Write"] : [])];
  writeFileSync(join(config, "settings.json"), JSON.stringify({
    security: { auth: { selectedType: "openai" } },
    tools: { toolSearch: { enabled: false } },
    permissions: { allow },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  }, null, 2));
  return {
    command: newerNode(),
    args: [fileURLToPath(new URL("node_modules/@qwen-code/qwen-code/cli-entry.js", import.meta.url)), "--acp"],
    env: {
      HOME: dir,
      PATH: process.env.PATH,
      OPENAI_API_KEY: "scripted",
      OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
      OPENAI_MODEL: "mock",
    },
  };
}
