// What went over the wire, taken from a copy of each response while the client reads the original, and
// the rules that hold for every stream whatever it says.

import assert from "node:assert/strict";

/**
 * Takes the place of the global `fetch`, which every version of the client uses, and keeps each exchange as
 * `exchangeOf` does.
 */
export function recordFetch() {
  const original = globalThis.fetch;
  const exchanges = [];
  globalThis.fetch = async (url, init) => {
    const response = await original(url, init);
    exchanges.push(exchangeOf(response, init));
    return response;
  };
  return exchanges;
}

/**
 * What is kept of a request: `{status, headers, sent, body}`. `sent` is the run that was asked for, if one was;
 * `body` resolves to the text that arrived, whole or cut short.
 */
export function exchangeOf(response, init) {
  const { status, headers } = response;
  const sent = init?.body ? JSON.parse(init.body) : null;
  return { status, headers, sent, body: readText(response.clone()) };
}

/** The events of a body, after a look at its framing. Only with `ids` there may be frames of an `id:` line alone. */
export function parseBody(text, { ids = false } = {}) {
  assert.ok(!text.includes("\r"), "a carriage return in the stream");
  assert.ok(text.endsWith("\n\n"), "the last frame is not closed by a blank line");
  const isAside = (frame) => frame === "" || frame.startsWith(":") || (ids && /^id: \S+$/.test(frame));
  const frames = text.split("\n\n").filter((frame) => !isAside(frame));
  return frames.map((frame) => {
    assert.match(frame, /^data: .*$/, "a frame is not one data line");
    return JSON.parse(frame.slice("data: ".length));
  });
}

/** Checks a whole stream against the run that it is of, `{threadId, runId}`. */
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
