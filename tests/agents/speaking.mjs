// What is asked of every agent while it does what it is told: text, thoughts, tools, edits, memory, two threads.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { message } from "./bench.mjs";

const MINUTE = 60_000;
/** How much of a minute two runs may need together. */
const TWO_RUNS = 30_000;

/** The daemon's settings: one process is kept and shared, but not for longer than the tests need. */
export const settings = { pool_size: 1, pool_ttl: "4s" };

export const checks = {
  async "prompt-with-a-tool-call"(bench) {
    if (bench.recipe.forgetsWithinTheMinute) await roomInThisMinute();
    bench.firstMinute = minute();
    const call = bench.call("read", join(bench.workdir, "note.txt"));
    bench.first = bench.newClient();
    const script = `[[think:Weigh it.]][[say:Reading the note.]]${call}[[say:It says hello.]]`;
    const { events } = await bench.runner.run(bench.first, script);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.deepEqual(bench.texts(bench.first), ["Reading the note.", "It says hello."]);
    const parts = events.filter(({ type }) => type.startsWith("TOOL_CALL_"));
    const types = parts.map(({ type }) => type);
    assert.deepEqual(types, ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]);
    if (bench.recipe.tellsResults !== false) assert.match(JSON.stringify(parts.at(-1).content), /the note says hello/);
    const thought = events.filter(({ type }) => type === "REASONING_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
    assert.match(thought, /Weigh it\./);
    [bench.kept] = bench.processes();
    assert.ok(bench.kept, "the process is kept for the next run");
  },

  async "second-run-knows-the-first"(bench) {
    const { events } = await bench.runner.run(bench.first, "[[say:A second answer.]]");
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.equal(bench.texts(bench.first).at(-1), "A second answer.");
    const { body } = bench.modelCall("A second answer.");
    assert.match(JSON.stringify(body), /It says hello\./, "the earlier turn is in the model's request");
    assert.equal(bench.processes()[0], bench.kept, "it is the same process");
    if (bench.recipe.forgetsWithinTheMinute) assert.equal(minute(), bench.firstMinute, "too slow: another minute");
  },

  async "edit-whose-diff-arrives"(bench) {
    const path = join(bench.workdir, "note.txt");
    // Most agents change no file that they have not read.
    const calls = `${bench.call("read", path)}${bench.call("edit", path, "the note says hello", "the note says goodbye")}`;
    const { events } = await bench.runner.run(bench.newClient(), `${calls}[[say:Changed.]]`);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.equal(readFileSync(path, "utf8"), "the note says goodbye\n");
    const diff = onlyDiff(events);
    assert.equal(diff.path, "note.txt");
    assert.match(diff.oldText, /the note says hello/);
    assert.match(diff.newText, /the note says goodbye/);
  },

  async "new-file-whose-diff-arrives"(bench) {
    const path = join(bench.workdir, "new.txt");
    const script = `${bench.call("create", path, "first line\nsecond line\n")}[[say:Written.]]`;
    const { events } = await bench.runner.run(bench.newClient(), script);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    assert.equal(readFileSync(path, "utf8"), "first line\nsecond line\n");
    if (bench.recipe.showsNewFiles === false) return "which this agent does not show";
    const diff = onlyDiff(events);
    assert.equal(diff.path, "new.txt");
    assert.ok(!diff.oldText, "there was no text before");
    assert.equal(diff.newText, "first line\nsecond line\n");
  },

  async "nothing-is-done-without-permission"(bench) {
    const asking = bench.newClient();
    // Whatever a person types to it.
    for (const words of bench.recipe.unlocks ?? []) await bench.runner.run(asking, words);
    const script = `${bench.call("shell", "touch refused")}[[say:After the refusal.]]`;
    const { events } = await bench.runner.run(asking, script, { open: 1 });
    const { type, interrupts } = events.at(-1).outcome;
    assert.deepEqual([type, interrupts.length], ["interrupt", 1]);
    const after = await bench.runner.goOn(asking, { resume: [{ interruptId: interrupts[0].id, status: "cancelled" }] });
    assert.equal(after.events.at(-1).type, "RUN_FINISHED");
    assert.ok(!existsSync(join(bench.workdir, "refused")), "the refused command ran");
  },

  async "two-threads-at-once"(bench) {
    const speakers = [1, 2].map(() => ({ client: bench.newClient(), word: `word-${randomUUID().slice(0, 8)}` }));
    const at = Date.now();
    const heard = await Promise.all(speakers.map(async (speaker) => {
      speaker.run = (await bench.startSlowRun(speaker.client, speaker.word)).run;
      return Date.now() - at;
    }));
    // Both are in the middle of their answers.
    assert.equal(bench.supervised(), 1, "one process has both sessions");
    for (const { client, word, run } of speakers) {
      client.abortRun();
      await run;
      const [text, ...others] = bench.texts(client);
      assert.deepEqual(others, []);
      assert.deepEqual([...new Set(text.trim().split(" "))], [word]);
    }
    bench.runner.assertQuiet();
    return `first words after ${heard.sort((one, other) => one - other).join(" and ")} ms`;
  },

  async "goes-on-after-an-abort"(bench) {
    const client = bench.newClient();
    const { run } = await bench.startSlowRun(client);
    client.abortRun();
    await run;
    bench.runner.assertQuiet();
    const answer = await bench.whenFree(client.threadId, [...client.messages, message("[[say:Still here.]]")]);
    const text = answer.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
    assert.match(text, /Still here\.$/);
  },

  async "nothing-left-once-it-is-idle"(bench) {
    await bench.nothingLeft();
  },
};

/** The diff of a run that has changed one file. */
function onlyDiff(events) {
  const shown = events.filter(({ type, activityType }) => type === "ACTIVITY_SNAPSHOT" && activityType === "pando.diff");
  const diffs = shown.map(({ content }) => content);
  assert.equal(diffs.length, 1, `one diff, not ${JSON.stringify(diffs)}`);
  const calls = events.filter(({ type }) => type === "TOOL_CALL_START").map(({ toolCallId }) => toolCallId);
  assert.equal(diffs[0].toolCallId, calls.at(-1), "the diff names the call");
  return diffs[0];
}

function minute() {
  return Math.floor(Date.now() / MINUTE);
}

/** Waits for the next minute unless two runs still fit into this one. */
async function roomInThisMinute() {
  const left = MINUTE - (Date.now() % MINUTE);
  if (left < TWO_RUNS) await pause(left);
}
