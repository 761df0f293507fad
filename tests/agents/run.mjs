// Drives real ACP agents through the daemon with the stock 1.0 client, while a scripted model server plays
// the model and /proc shows what is left behind:
//
//   AGUI_SERVE=target/debug/agui-serve node run.mjs [gemini] [copilot]

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { check, finish, say } from "../clients/report.mjs";
import { createRunner } from "../clients/runner.mjs";
import * as client from "../clients/v1.0.0/client.mjs";
import { setUp } from "./bench.mjs";
import { stopDaemon } from "./daemon.mjs";

/** How long an agent's model call may outlive a client that hung up: a second, and what the agent needs. */
const STREAM_CLOSED_WITHIN = 1_500;

const checks = {
  async "prompt-with-a-tool-call"(bench) {
    const call = bench.call("read", join(bench.workdir, "note.txt"));
    bench.first = bench.newClient();
    const script = `[[think:Weigh it.]][[say:Reading the note.]]${call}[[say:It says hello.]]`;
    const { events } = await bench.runner.run(bench.first, script);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.deepEqual(texts(bench.first), ["Reading the note.", "It says hello."]);
    const parts = events.map((event) => event.type).filter((type) => type.startsWith("TOOL_CALL_"));
    assert.deepEqual(parts, ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]);
    assert.ok(events.some((event) => event.type === "REASONING_MESSAGE_CONTENT"), "the thought");
  },

  async "second-run-knows-the-first"(bench) {
    const { events } = await bench.runner.run(bench.first, "[[say:A second answer.]]");
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.equal(texts(bench.first).at(-1), "A second answer.");
    const { body } = bench.modelCall("A second answer.");
    assert.match(JSON.stringify(body), /It says hello\./, "the earlier turn is in the model's request");
  },

  async "nothing-is-done-without-permission"(bench) {
    const script = `${bench.call("shell", "touch refused")}[[say:After the refusal.]]`;
    const { events } = await bench.runner.run(bench.newClient(), script);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.ok(!existsSync(join(bench.workdir, "refused")), "the refused command ran");
  },

  async "nothing-left-after-the-runs"(bench) {
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

  "last-process-killed-in-mid-run": (bench) => killInMidRun(bench, (found) => found.at(-1)),

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
    await bench.startDaemon();
    // Not the stock client, in which a stream that is cut off leaves a rejection that nobody handles.
    const response = await fetch(bench.daemon.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${bench.token}` },
      body: JSON.stringify(inputOf(bench.commandScript())),
    });
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
  assert.ok(error?.code, `a RUN_ERROR with a code, not ${JSON.stringify(error)}`);
  await bench.runner.inspect(victim);
  await bench.nothingLeft();
  return `${error.code} after ${took} ms`;
}

/** What the assistant said, message by message. */
function texts({ messages }) {
  return messages.filter(({ role, content }) => role === "assistant" && content).map(({ content }) => content);
}

function inputOf(content) {
  return {
    threadId: randomUUID(),
    runId: randomUUID(),
    messages: [{ id: randomUUID(), role: "user", content }],
    state: {},
    tools: [],
    context: [],
    forwardedProps: {},
  };
}

if (!process.env.AGUI_SERVE) {
  say("AGUI_SERVE, the path of the daemon's program, is not set");
  process.exit(2);
}
const runner = createRunner(client);
for (const name of process.argv.length > 2 ? process.argv.slice(2) : ["gemini", "copilot"]) {
  const bench = await setUp(name, process.env.AGUI_SERVE, runner);
  for (const [what, run] of Object.entries(checks)) await check(`${name} ${what}`, () => run(bench));
  await bench.tearDown();
}
finish();
