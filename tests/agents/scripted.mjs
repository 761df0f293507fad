// A real agent whose model plays what it is asked to, ready for a daemon to start it.

import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { startModelServer } from "./model-server.mjs";
import { marked } from "./processes.mjs";

const MARK = "AGUI_TEST_MARK";

/** A command that runs until it is ended, and that no agent refuses, as some do a long sleep. */
export const WAITING = "tail -f note.txt";

/**
 * Writes the agent's home below `dir` and starts its model. Resolves to the recipe, the model, the agent as
 * `startDaemon` takes it, and `mark`, which is in the environment of all that the agent starts.
 */
export async function engage(name, dir, workdir, { mayEdit }) {
  const recipe = await import(`./${name}/recipe.mjs`);
  const model = await startModelServer();
  const { command, args, env } = recipe.prepare(join(dir, "home"), model.port, { mayEdit });
  const secret = randomUUID();
  // The preset of that name knows the mode in which the agent asks.
  const agent = { name, preset: name, command, args, workdir, env: { ...env, [MARK]: secret } };
  return { recipe, model, agent, mark: `${MARK}=${secret}` };
}

/** Ends what the agent has left behind, and its model. */
export async function dismiss({ mark, model }) {
  marked(mark).forEach(({ pid }) => process.kill(pid, "SIGKILL"));
  await model.close();
}

/** The script of a call of a tool. */
export function callOf(tool, args) {
  return `[[call:${tool} ${JSON.stringify(args)}]]`;
}

/** The script of a call of one of the tools in an agent's recipe. */
export function ownCall({ tools }, tool, ...values) {
  return callOf(...tools[tool](...values));
}
