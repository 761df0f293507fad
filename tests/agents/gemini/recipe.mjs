// Gemini CLI as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SETTINGS = {
  // A model by name: the default asks a second model first which one to use.
  model: { name: "gemini-3.8-flash" },
  // In a folder that it does not trust it takes no tools of others.
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
};

/** The one command that needs no permission: a test of what is left behind has to start something. */
const TAIL = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "tail"
decision = "allow"
priority = 500
`;
const EDITS = `[[rule]]
toolName = ["replace", "write_file"]
decision = "allow"
priority = 500
`;

/** A session's record is named after the minute, and a load in another process within that minute empties it. */
export const forgetsWithinTheMinute = true;

/** It tells that a tool is done, but not what came of it. */
export const tellsResults = false;

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["read_file", { file_path: path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["run_shell_command", { command }],
  /** Replaces a text in a file. */
  edit: (path, before, after) => ["replace", { file_path: path, old_string: before, new_string: after, instruction: "Change it." }],
  /** Writes a file that is not there yet. */
  create: (path, text) => ["write_file", { file_path: path, content: text }],
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs. Only with `mayEdit` it changes files without asking.
 */
export function prepare(dir, modelPort, { mayEdit }) {
  const config = join(dir, ".gemini");
  mkdirSync(join(config, "policies"), { recursive: true });
  writeFileSync(join(config, "settings.json"), JSON.stringify(SETTINGS, null, 2));
  // The setting `tools.allowed` would do, but it denies every other command where a policy leaves it asked for.
  const rules = [TAIL, ...(mayEdit ? [EDITS] : [])];
  writeFileSync(join(config, "policies", "tests.toml"), rules.join("\n"));
  return {
    command: process.execPath,
    args: [fileURLToPath(new URL("node_modules/@google/gemini-cli/bundle/gemini.js", import.meta.url)), "--acp"],
    env: {
      HOME: dir,
      PATH: process.env.PATH,
      GEMINI_API_KEY: "scripted",
      GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${modelPort}`,
    },
  };
}
