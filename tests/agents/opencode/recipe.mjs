// OpenCode as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The one platform whose program is installed: that itself, without the package `opencode-ai` that chooses among them. */
export const platform = "linux-x64";

const PROGRAM = fileURLToPath(new URL("node_modules/opencode-linux-x64/bin/opencode", import.meta.url));

/** It shows the text of a new file only where it asks for permission. */
export const showsNewFiles = false;

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["read", { filePath: path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["bash", { command, description: "run a command" }],
  /** Replaces a text in a file. */
  edit: (path, before, after) => ["edit", { filePath: path, oldString: before, newString: after }],
  /** Writes a file that is not there yet. */
  create: (path, text) => ["write", { filePath: path, content: text }],
  /** Says what is to be done: the whole list of `{content, status, priority}`. */
  todos: (todos) => ["todowrite", { todos }],
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. Only with `mayEdit` it changes files without asking.
 */
export function prepare(dir, modelPort, { mayEdit }) {
  const config = join(dir, ".config", "opencode");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "opencode.json"), JSON.stringify({
    model: "scripted/mock",
    small_model: "scripted/mock",
    enabled_providers: ["scripted"],
    share: "disabled",
    autoupdate: false,
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted",
        options: { baseURL: `http://127.0.0.1:${modelPort}/v1`, apiKey: "scripted" },
        // Only of a model that has a limit it tells how full the context is.
        models: { mock: { name: "Mock", reasoning: true, tool_call: true, limit: { context: 128_000, output: 8_000 } }, other: { name: "Other", tool_call: true } },
      },
    },
  }, null, 2));
  return {
    command: PROGRAM,
    args: ["acp"],
    env: {
      HOME: dir,
      PATH: process.env.PATH,
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_PERMISSION: JSON.stringify({
        edit: mayEdit ? "allow" : "ask",
        // The one command that needs no permission: a test of what is left behind has to start something.
        bash: { "*": "ask", "tail *": "allow" },
      }),
    },
  };
}
