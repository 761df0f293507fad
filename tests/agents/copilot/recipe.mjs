// Copilot CLI as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LOADER = fileURLToPath(new URL("node_modules/@github/copilot/npm-loader.js", import.meta.url));

/**
 * The tools that the tests call, in this agent's words. None of them is for todos: it makes a plan of what is in the table
 * `todos` of its tool `sql`, but since 1.0.89 every plan that it sends is empty.
 */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["view", { path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["bash", { command, description: "run a command" }],
  /** Replaces a text in a file. */
  edit: (path, before, after) => ["edit", { path, old_str: before, new_str: after }],
  /** Writes a file that is not there yet. */
  create: (path, text) => ["create", { path, file_text: text }],
};

/** Where it keeps its sessions, from its home on. */
export const sessions = [".copilot/session-state"];

/** What one can type to it so that it asks no more. */
export const unlocks = ["/allow-all on"];

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. Only with `mayEdit` it changes files without asking.
 */
export function prepare(dir, modelPort, { mayEdit }) {
  mkdirSync(dir, { recursive: true });
  return {
    command: process.execPath,
    // The one command that needs no permission: a test of what is left behind has to start something.
    args: [LOADER, "--acp", "--allow-tool", "shell(tail:*)", ...(mayEdit ? ["--allow-tool", "write"] : [])],
    env: {
      HOME: dir,
      PATH: process.env.PATH,
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
      COPILOT_PROVIDER_API_KEY: "scripted",
      COPILOT_MODEL: "mock",
    },
  };
}
