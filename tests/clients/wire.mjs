// What went over the wire, taken from a copy of each response while the client reads the original, and
// the rules that hold for every stream whatever it says.

import assert from "node:assert/strict";

/**
 * Takes the place of the global `fetch`, which every version of the client uses, and keeps for each
 * request `{status, headers, sent, body}`; `body` resolves to the text that arrived, whole or cut short.
 */
export function recordFetch() {
  const original = globalThis.fetch;
  const exchanges = [];
  globalThis.fetch = async (url, init) => {
    const response = await original(url, init);
    const { status, headers } = response;
    exchanges.push({ status, headers, sent: JSON.parse(init.body), body: readText(response.clone()) });
    return response;
  };
  return exchanges;
}

/** The events of a body, after a look at its framing. */
export function parseBody(text) {
  assert.ok(!text.includes("\r"), "a carriage return in the stream");
  assert.ok(text.endsWith("\n\n"), "the last frame is not closed by a blank line");
  const frames = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
  return frames.map((frame) => {
    assert.match(frame, /^data: .*$/, "a frame is not one data line");
    return JSON.parse(frame.slice("data: ".length));
  });
}

/** Checks a whole stream against the run that asked for it. */
export function checkStream(events, sent, client) {
  const [first] = events;
  assert.equal(first?.type, "RUN_STARTED", "the first event");
  assert.equal(first.threadId, sent.threadId);
  assert.equal(first.runId, sent.runId);
  if (client.protocolVersion) assert.equal(first.protocolVersion, client.protocolVersion, "RUN_STARTED");
  const terminal = events.filter((event) => ["RUN_FINISHED", "RUN_ERROR"].includes(event.type));
  assert.equal(terminal.length, 1, "exactly one terminal event");
  assert.equal(events.at(-1), terminal[0], "nothing after the terminal event");
  for (const event of events) {
    try {
      client.checkEvent(event);
    } catch (error) {
      throw new Error(`the official schema refuses ${JSON.stringify(event).slice(0, 300)}: ${error.message}`);
    }
  }
}

async function readText(response) {
  let text = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true });
  } catch {
    // The client hung up; what came before that is what there is.
  }
  return text;
}
