// Claude Code as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { newerNode } from "../node24/path.mjs";

/** The mode in which it asks the user: without it, it decides by itself. */
export const askingMode = "default";

/** Which of its processes does the work, by age: there is a younger one that waits for work. */
export const worker = 1;

/** It goes on to offer the model a tool that it has called before and that is gone, and does not call it. */
export const keepsTools = true;

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["Read", { file_path: path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["Bash", { command, description: "run a command" }],
  /** Replaces a text in a file. */
  edit: (path, before, after) => ["Edit", { file_path: path, old_string: before, new_string: after }],
  /** Writes a file that is not there yet. */
  create: (path, text) => ["Write", { file_path: path, content: text }],
  /** Says what is to be done. It is not among the tools that it offers at once, and known nevertheless. */
  todos: (todos) => ["TodoWrite", { todos: todos.map((todo) => ({ ...todo, activeForm: todo.content })) }],
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. Only with `mayEdit` it changes files without asking.
 */
export function prepare(dir, modelPort, { mayEdit }) {
  const config = join(dir, ".claude");
  mkdirSync(config, { recursive: true });
  // The one command that needs no permission: a test of what is left behind has to start something.
  const allow = ["Bash(tail:*)", ...(mayEdit ? ["Edit", "Write"] : [])];
  writeFileSync(join(config, "settings.json"), JSON.stringify({ permissions: { allow } }, null, 2));
  return {
    command: newerNode(),
    args: [fileURLToPath(new URL("node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js", import.meta.url))],
    env: {
      HOME: dir,
      PATH: process.env.PATH,
      CLAUDE_CONFIG_DIR: config,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${modelPort}`,
      ANTHROPIC_API_KEY: "scripted",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      // Else it refuses to start as root, which is who runs the tests in a container.
      IS_SANDBOX: "1",
    },
  };
}
