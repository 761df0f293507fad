// What is asked of every agent when the daemon is killed between two turns of a thread: the conversation goes on, from
// what the agent remembers, or else from what the daemon does.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { stopDaemon } from "./daemon.mjs";

const TURNS = 10;
const TELLING = 3;
const MINUTE = 60_000;

/** The daemon's settings: a process goes through all the turns. */
export const settings = { pool_size: 1 };

export const checks = {
  async "goes-on-in-its-session-after-a-kill"(bench) {
    const thread = await manyTurns(bench);
    // Only the agent itself can know the word then.
    const { events, request } = await afterKill(bench, thread, { seed_history: false });
    assert.deepEqual(notices(events), []);
    assert.ok(request.includes(thread.word), "the word of an earlier turn is not in the model's request");
  },

  async "is-told-the-conversation-if-its-session-is-gone-too"(bench) {
    const { sessions } = bench.recipe;
    if (!sessions) return "where this agent keeps its sessions is not written here";
    const thread = await manyTurns(bench);
    const { events, request, text } = await afterKill(bench, thread, { seed_history: true }, () => {
      for (const folder of sessions) {
        const path = join(bench.agent.env.HOME, folder);
        assert.ok(existsSync(path), `its sessions are not in ${folder}`);
        rmSync(path, { recursive: true });
      }
    });
    assert.deepEqual(notices(events).map(({ name }) => name), ["pando.session_replaced", "pando.history_told"]);
    assert.deepEqual(notices(events)[1].value, { messages: 2 * TURNS, omitted: 0 });
    assert.ok(request.includes("<earlier_conversation>"));
    assert.ok(request.includes(thread.word), "the word of an earlier turn is not in the model's request");
    assert.ok(text.endsWith(said(TURNS + 1)));
  },

  async "does-not-know-a-thread-that-was-deleted"(bench) {
    const client = bench.newClient();
    const word = newWord();
    await bench.runner.run(client, `Remember this: ${word}. [[say:I will.]]`);
    const [kept] = bench.processes();
    const headers = { authorization: `Bearer ${bench.token}` };
    const deleted = await fetch(`${bench.daemon.url}/threads/${client.threadId}`, { method: "DELETE", headers });
    assert.ok(deleted.ok, `${deleted.status}: ${await deleted.text()}`);
    const again = bench.newClient();
    again.threadId = client.threadId;
    const { events } = await bench.runner.run(again, "[[say:I know nothing.]]");
    assert.deepEqual(notices(events), []);
    assert.equal(bench.processes()[0], kept, "its process goes on");
    assert.ok(!JSON.stringify(bench.modelCall("I know nothing.").body).includes(word));
  },
};

/** Has a thread of many turns, in one of which a word is told; resolves to `{client, word}`. */
async function manyTurns(bench) {
  const client = bench.newClient();
  const word = newWord();
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const telling = turn === TELLING ? `Remember this: ${word}. ` : "";
    const { events } = await bench.runner.run(client, `${telling}[[say:${said(turn)}]]`);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
  }
  assert.equal(bench.texts(client).length, TURNS);
  return { client, word };
}

/**
 * Kills the daemon, does what is to be done in between, starts it again and goes on with the thread. Resolves to
 * `{events, request, text}`: what came of it, and what the model was asked.
 */
async function afterKill(bench, { client, word }, settingsThen, between = () => {}) {
  await stopDaemon(bench.daemon, "SIGKILL");
  await bench.nothingLeft();
  // A session is named after the minute there, and a load within the minute of its start empties it.
  if (bench.recipe.forgetsWithinTheMinute) await pause(MINUTE - (Date.now() % MINUTE));
  between();
  await bench.startDaemon({ ...settings, ...settingsThen });
  const again = bench.newClient();
  again.threadId = client.threadId;
  again.setMessages(client.messages);
  const { events } = await bench.runner.run(again, `[[say:${said(TURNS + 1)}]]`);
  assert.equal(events.at(-1).type, "RUN_FINISHED");
  assert.ok(!events.some(({ delta }) => delta?.includes?.(word)), "nothing of the history is streamed as new");
  const request = JSON.stringify(bench.modelCall(said(TURNS + 1)).body);
  return { events, request, text: bench.texts(again).at(-1) };
}

function newWord() {
  return `word-${randomUUID().slice(0, 8)}`;
}

function said(turn) {
  return `This was turn ${turn}.`;
}

/** What the daemon says of sessions and histories. */
function notices(events) {
  const about = /^pando\.(session|history)_/;
  return events.filter(({ type, name }) => type === "CUSTOM" && about.test(name));
}
