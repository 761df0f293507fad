// Drives the demo agent with the stock `HttpAgent` of one folder through every scenario:
//
//   AGUI_URL=http://127.0.0.1:8787/agui/demo AGUI_TOKEN=… node drive.mjs v1.0.0

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

import { check, finish } from "./report.mjs";
import { createRunner } from "./runner.mjs";
import { scenarios } from "./scenarios.mjs";
import { parseBody } from "./wire.mjs";
import { working } from "./working.mjs";

const ATTEMPTS = 10;

const folder = process.argv[2];
const client = await import(`./${folder}/client.mjs`);
const runner = createRunner(client);
const newAgent = () => runner.newAgent(process.env.AGUI_URL, process.env.AGUI_TOKEN);

for (const scenario of scenarios) {
  await check(`${folder} ${scenario.name}`, () => play(scenario));
}
for (const scenario of working) {
  await check(`${folder} ${scenario.name}`, () => playWork(scenario));
}
await check(`${folder} two-runs-on-one-thread`, twoRuns);
await check(`${folder} abort-and-run-again`, abortAndRunAgain);
finish();

async function play({ ask, error, expect }) {
  const agent = newAgent();
  const { seen, events } = await runner.run(agent, ask);
  assert.equal(events.at(-1).type, error ? "RUN_ERROR" : "RUN_FINISHED");
  assert.equal(events.at(-1).code, error);
  assert.equal(seen.error?.code, error, "what the client reported");
  expect({ messages: agent.messages.slice(1), events });
}

/** Has the agent work, goes on with what it asks for if this client knows interrupts, and talks on. */
async function playWork({ ask, open, resume, expect }) {
  const agent = newAgent();
  const runs = [await runner.run(agent, ask, { open })];
  if (resume && !("pendingInterrupts" in agent)) return "this client knows no interrupts";
  if (resume) {
    const { interrupts } = runs[0].events.at(-1).outcome;
    const answers = interrupts.map(({ id }, at) => ({ interruptId: id, status: "resolved", payload: resume[at] }));
    runs.push(await runner.goOn(agent, { resume: answers }));
  }
  const events = runs.flatMap((run) => run.events);
  assert.equal(events.at(-1).type, "RUN_FINISHED");
  expect({
    messages: agent.messages.slice(1),
    events,
    documents: runs.flatMap(({ seen }) => seen.documents),
    state: agent.state,
    isCurrent: client.protocolVersion !== undefined,
  });
  // The client sends all of it back: it changes neither the conversation nor the document.
  const work = ({ todos, files, subAgents, tokenUsage }) => structuredClone({ todos, files, subAgents, tokenUsage });
  const before = work(agent.state);
  await runner.run(agent, "how often");
  assert.equal(agent.messages.at(-1).content, "This is turn 2 of the session.");
  assert.deepEqual(work(agent.state), before);
}

async function twoRuns() {
  const agent = newAgent();
  await runner.run(agent, "use a tool");
  const before = agent.messages.length;
  await runner.run(agent, "say hello");
  assert.equal(agent.messages.length, before + 2, "the question and its answer, nothing twice");
}

async function abortAndRunAgain() {
  const agent = newAgent();
  runner.ask(agent, "be slow");
  let words = 0;
  await runner.start(agent, () => {
    if (++words === 2) agent.abortRun();
  });
  runner.assertQuiet();
  const body = await runner.newest().body;
  const events = parseBody(body.slice(0, body.lastIndexOf("\n\n") + 2));
  assert.equal(events[0].type, "RUN_STARTED");
  events.forEach((event) => client.checkEvent(event));

  const attempts = await runWhenFree(agent, "say hello");
  return `${attempts} attempt${attempts > 1 ? "s" : ""} after the abort`;
}

/** Runs on a thread that may still be busy, for which the server says when to come again. */
async function runWhenFree(agent, text) {
  runner.ask(agent, text);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const failure = await runner.start(agent).then(() => null, (error) => error);
    const { status, headers } = runner.newest();
    if (status !== 409) {
      if (failure) throw failure;
      await runner.inspect(agent);
      return attempt;
    }
    runner.forgive();
    const seconds = Number(headers.get("retry-after") ?? NaN);
    assert.ok(seconds >= 0 && seconds <= 5, `retry-after: ${headers.get("retry-after")}`);
    await pause(seconds * 1000);
  }
  throw new Error(`still busy after ${ATTEMPTS} attempts`);
}
