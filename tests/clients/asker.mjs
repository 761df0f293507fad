// What the checks of prompts and of their answers share.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { createRunner } from "./runner.mjs";
import { parseBody } from "./wire.mjs";

/** Drives the clients of one folder against the demo at `url`. */
export async function createAsker(folder, url = () => process.env.AGUI_URL, token = process.env.AGUI_TOKEN) {
  const client = await import(`./${folder}/client.mjs`);
  const runner = createRunner(client);
  const newAgent = () => runner.newAgent(url(), token);
  return {
    runner,
    newAgent,
    isCurrent: client.protocolVersion !== undefined,
    knowsInterrupts: "pendingInterrupts" in newAgent(),
    answer,

    /** A client that comes new to a thread, as after a reload, and is shown it; `open`: how many calls wait. */
    async hydrate(threadId, open) {
      const agent = newAgent();
      agent.threadId = threadId;
      const { events } = await runner.goOn(agent, { open });
      assert.equal(events[2].type, "MESSAGES_SNAPSHOT");
      return agent;
    },

    /** A run without a client; resolves to its events, or to what else was answered. */
    async post(run, expected = 200) {
      const body = {
        runId: randomUUID(), messages: [], state: {}, tools: [], context: [], forwardedProps: {},
        protocolVersion: client.protocolVersion, ...run,
      };
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const response = await fetch(url(), { method: "POST", headers, body: JSON.stringify(body) });
      const text = await response.text();
      assert.equal(response.status, expected, text);
      return expected === 200 ? parseBody(text) : JSON.parse(text);
    },
  };
}

/** An answer to an interrupt. */
export function answer({ id }, entry) {
  return { interruptId: id, status: "resolved", ...entry };
}

/** The answer that allows. */
export function yes(interrupt) {
  return answer(interrupt, { payload: { approved: true } });
}

export function textOf(events) {
  return events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
}

/** The results of a run, `[call, text]` each. */
export function resultsOf(events) {
  const results = events.filter(({ type }) => type === "TOOL_CALL_RESULT");
  return results.map(({ toolCallId, content }) => [toolCallId, content]);
}

export function noticesOf(events) {
  return events.filter(({ type }) => type === "CUSTOM").map(({ name }) => name);
}
