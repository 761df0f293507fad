// What is asked of every agent of the state document: a page shows from it alone what the agent means to do, which files
// it has touched and how full its context is, while it works. The documents that the client has had are left in
// documents/, one a line.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DOCUMENTS = fileURLToPath(new URL("documents/", import.meta.url));
const TASKS = ["Read the note", "Write the answer"];
/** How far the tasks are, each time that the agent says so. */
const COURSE = [
  ["pending", "pending"],
  ["in_progress", "pending"],
  ["completed", "in_progress"],
  ["completed", "completed"],
];

/** The daemon's settings: one process does all of it. */
export const settings = { pool_size: 1 };

export const checks = {
  async "todos-files-and-usage"(bench) {
    const [atFirst, ...later] = COURSE.map((statuses) => todos(bench, statuses));
    const read = bench.call("read", join(bench.workdir, "note.txt"));
    const write = bench.call("create", join(bench.workdir, "answer.txt"), "hello yourself\n");
    const work = [atFirst, later[0], read, later[1], write, later[2]].join("");
    const client = bench.newClient();
    const { seen, events } = await bench.runner.run(client, `${work}[[say:All done.]]`);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    keep(bench.agent.name, seen.documents);

    const { files, tokenUsage } = client.state;
    const { action, ...written } = files.find(({ path }) => path === "answer.txt") ?? {};
    assert.deepEqual(files.filter(({ path }) => path === "note.txt"), [{ path: "note.txt", name: "note.txt", action: "read" }]);
    assert.deepEqual(written, { path: "answer.txt", name: "answer.txt" }, JSON.stringify(files));
    assert.match(action, /^(write|edit)$/);
    assert.ok(tokenUsage?.promptTokens > 0, `what is in the context: ${JSON.stringify(tokenUsage)}`);

    const { promptTokens, contextWindow } = tokenUsage;
    const usage = `${promptTokens} tokens${contextWindow > 0 ? ` of ${contextWindow}` : ""}`;
    if (!bench.recipe.tools.todos) return `${usage}; without todos, which this agent does not have`;
    const shown = statesOf(seen.documents.map((document) => document.todos));
    assert.deepEqual(shown, [[], ...COURSE].map((statuses) => statuses.map((status, at) => [TASKS[at], status])));
    return `${usage}; ${COURSE.map((statuses) => statuses.join("+")).join(" → ")}`;
  },
};

/** The script in which the agent notes how far its tasks are, if it can. */
function todos(bench, statuses) {
  if (!bench.recipe.tools.todos) return "";
  return bench.call("todos", statuses.map((status, at) => ({ content: TASKS[at], status, priority: "medium" })));
}

/** What the todos were, one after another, each as its tasks and how far they are. */
function statesOf(lists) {
  const states = lists.map((list) => list.map(({ content, status }) => [content, status]));
  return states.filter((state, at) => at === 0 || JSON.stringify(state) !== JSON.stringify(states[at - 1]));
}

function keep(name, documents) {
  mkdirSync(DOCUMENTS, { recursive: true });
  writeFileSync(join(DOCUMENTS, `${name}.jsonl`), documents.map((document) => `${JSON.stringify(document)}\n`).join(""));
}
