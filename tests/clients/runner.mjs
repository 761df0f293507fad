// Runs a client and looks at each run from both sides: what the client made of it, and what went over the
// wire. Takes over the console and `fetch` of this process, so there is one of it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { within } from "./report.mjs";
import { checkClient } from "./scenarios.mjs";
import { checkStream, parseBody, recordFetch } from "./wire.mjs";

const RUN_TIMEOUT = 60_000;

/** The runner for `client`, the module `client.mjs` of one version's folder. */
export function createRunner(client) {
  const exchanges = recordFetch();
  const grumbles = [];
  console.warn = (...words) => grumbles.push(["console.warn", ...words]);
  console.error = (...words) => grumbles.push(["console.error", ...words]);

  const runner = {
    /** A client on a thread of its own. */
    newAgent(url, token) {
      const headers = { authorization: `Bearer ${token}` };
      return new client.HttpAgent({ url, headers, threadId: `thread-${randomUUID()}` });
    },

    /** Asks, waits for the end, checks both sides; resolves to `{seen, events}`. */
    async run(agent, text, parameters) {
      runner.ask(agent, text);
      return runner.goOn(agent, parameters);
    },

    /** The same without a question. */
    async goOn(agent, parameters) {
      const seen = await runner.start(agent, () => {}, parameters);
      const events = await runner.inspect(agent, parameters);
      const changes = events.filter(({ type }) => type === "STATE_SNAPSHOT" || type === "STATE_DELTA");
      assert.equal(seen.documents.length, changes.length, "each change of the state is applied");
      return { seen, events };
    },

    /** Adds a question to the client's messages. */
    ask(agent, content) {
      agent.addMessage({ id: randomUUID(), role: "user", content });
    },

    /**
     * Starts a run and resolves at its end to what the client reported: `{error}`, the RUN_ERROR if any, `{pending}`, the
     * calls that it was told to answer, and `{documents}`, its state after each change. `parameters` are those of `runAgent`.
     */
    async start(agent, onWord = () => {}, { open: _, ...parameters } = {}) {
      const seen = { documents: [] };
      await within(RUN_TIMEOUT, "end of the run", agent.runAgent({ runId: randomUUID(), ...parameters }, {
        onRunErrorEvent({ event }) {
          seen.error = event;
        },
        onRunFinishedEvent({ pendingToolCallIds }) {
          seen.pending = pendingToolCallIds;
        },
        onTextMessageContentEvent: onWord,
        onStateChanged({ state }) {
          seen.documents.push(structuredClone(state));
        },
      }));
      return seen;
    },

    /** Checks the newest run of the client from both sides and resolves to its events; `open`: how many calls wait. */
    async inspect(agent, { open = 0 } = {}) {
      runner.assertQuiet();
      const { status, headers, sent, body } = exchanges.findLast(({ sent }) => sent?.threadId === agent.threadId);
      assert.equal(status, 200);
      assert.match(headers.get("content-type"), /^text\/event-stream/);
      assert.equal(sent.protocolVersion, client.protocolVersion, "what the client declares");
      const events = parseBody(await within(RUN_TIMEOUT, "end of the body", body));
      checkStream(events, sent, client);
      checkClient(agent, open);
      return events;
    },

    /** The newest exchange, as `recordFetch` keeps it. */
    newest: () => exchanges.at(-1),

    /** Fails if the client has said anything on its console since the last look. */
    assertQuiet() {
      const heard = grumbles.splice(0).map((words) => words.map(String).join(" "));
      assert.deepEqual(heard, [], "the client complains on its console");
    },

    /** Forgets what was said on the console, where a complaint is right. */
    forgive() {
      grumbles.length = 0;
    },
  };
  return runner;
}
