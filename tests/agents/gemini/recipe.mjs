// Gemini CLI as an ACP agent that talks to a model server on loopback and to nothing else.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SETTINGS = {
  // A model by name: the default asks a second model first which one to use.
  model: { name: "gemini-3.8-flash" },
  // The one command that needs no permission: a test of what is left behind has to start something.
  tools: { allowed: ["run_shell_command(sleep)"] },
  security: { auth: { selectedType: "gemini-api-key" } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
};

/** The tools that the tests call, in this agent's words. */
export const tools = {
  /** Reads a file without asking anybody. */
  read: (path) => ["read_file", { file_path: path }],
  /** Runs a command, for which the agent asks permission. */
  shell: (command) => ["run_shell_command", { command }],
};

/**
 * Writes the agent's home below `dir` and returns `{command, args, env}`, where `env` is the whole
 * environment that the agent needs.
 */
export function prepare(dir, modelPort) {
  const config = join(dir, ".gemini");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "settings.json"), JSON.stringify(SETTINGS, null, 2));
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
