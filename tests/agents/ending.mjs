// What is asked of every agent when it is made to stop: by its client, by its own end, by the daemon's. Whatever
// happens, nothing is left of it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { message } from "./bench.mjs";
import { stopDaemon } from "./daemon.mjs";

/** How long an agent's model call may outlive a client that hung up: a second, and what the agent needs. */
const STREAM_CLOSED_WITHIN = 1_500;

/** The daemon's settings: every run has a process of its own, which ends with it. */
export const settings = { pool_size: 0 };

export const checks = {
  async "nothing-left-after-a-run"(bench) {
    const { events } = await bench.runner.run(bench.newClient(), "[[say:Alone.]]");
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    await bench.nothingLeft();
  },

  async "abort-in-mid-stream"(bench) {
    const aborting = bench.newClient();
    const { run } = await bench.startSlowRun(aborting);
    const at = Date.now();
    aborting.abortRun();
    await run;
    bench.runner.assertQuiet();
    const modelCall = bench.modelCall("[[slow:200]]");
    await bench.modelCallEnds(modelCall);
    const took = modelCall.closedAt - at;
    assert.ok(modelCall.closedEarly, "the agent read the model's answer to its end");
    assert.ok(took <= STREAM_CLOSED_WITHIN, `the model's stream was closed ${took} ms after the abort`);
    await bench.nothingLeft();
    return `model's stream closed after ${took} ms, all processes gone after ${Date.now() - at} ms`;
  },

  async "abort-while-a-command-runs"(bench) {
    const aborting = bench.newClient();
    const { run } = await bench.startCommand(aborting);
    const at = Date.now();
    aborting.abortRun();
    await run;
    await bench.nothingLeft();
    return `all processes gone after ${Date.now() - at} ms`;
  },

  "first-process-killed-in-mid-run": (bench) => killInMidRun(bench, (found) => found[0]),

  "working-process-killed-in-mid-run": (bench) => killInMidRun(bench, (found) => found.at(bench.recipe.worker ?? -1)),

  async "works-after-a-crash"(bench) {
    const { events } = await bench.runner.run(bench.newClient(), "[[say:Still here.]]");
    assert.equal(events.at(-1).type, "RUN_FINISHED");
  },

  async "daemon-ends-in-mid-run"(bench) {
    const cut = bench.newClient();
    const { run } = await bench.startSlowRun(cut);
    const at = Date.now();
    const end = await stopDaemon(bench.daemon);
    const took = Date.now() - at;
    await run;
    const events = await bench.runner.inspect(cut);
    assert.deepEqual(end, { code: 0, signal: null });
    await bench.nothingLeft();
    const last = events.at(-1);
    return `${last.type} ${last.code ?? last.outcome?.type}, exit after ${took} ms`;
  },

  async "daemon-killed-while-a-command-runs"(bench) {
    await bench.startDaemon(settings);
    // Not the stock client, in which a stream that is cut off leaves a rejection that nobody handles.
    const response = await bench.post(randomUUID(), [message(bench.commandScript())]);
    assert.equal(response.status, 200);
    // Read, so that its being cut off has somebody who handles it.
    const cutOff = response.text().catch(() => {});
    await bench.commandRuns();
    await stopDaemon(bench.daemon, "SIGKILL");
    await bench.nothingLeft();
    await cutOff;
  },
};

async function killInMidRun(bench, pick) {
  const victim = bench.newClient();
  const { run } = await bench.startSlowRun(victim);
  const at = Date.now();
  bench.killOne(pick);
  const { error } = await run;
  const took = Date.now() - at;
  const last = (await bench.runner.inspect(victim)).at(-1);
  assert.ok(error?.code, `a RUN_ERROR with a code, not ${JSON.stringify(last)}`);
  await bench.nothingLeft();
  return `${error.code} after ${took} ms`;
}
