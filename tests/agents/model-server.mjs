// A model server for real agents that needs no model: it plays the script in the user's prompt (see
// model-script.mjs) over the wires in model-wires/, and records what it was asked.
//
// As a program it prints its port as the first line of standard output and serves until it is ended:
//   node model-server.mjs [PORT]
// As a module, `startModelServer` gives the same server to a test, with an event for each change.
//
// GET /_requests answers the records as JSON, newest last.

import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { responseSteps, words } from "./model-script.mjs";
import { chat } from "./model-wires/chat.mjs";
import { gemini } from "./model-wires/gemini.mjs";
import { messages } from "./model-wires/messages.mjs";
import { responses } from "./model-wires/responses.mjs";

const KEPT_RECORDS = 500;
// How each model protocol reads a request (`read`: the script, the tool results after it, the tools offered)
// and writes an answer: the events before the first step, of one piece of a step, after the last, or all at once.
const WIRES = [gemini, chat, messages, responses];

/**
 * Serves on loopback and resolves once bound, to `{port, requests, events, close}`. `requests` are the
 * records `{id, path, wire, script, results, body, startedAt, finishedAt, closedAt, closedEarly, chunks}`
 * (times in milliseconds since the epoch); `events` emits `change` with a record whenever one has been
 * started, has sent its first chunk, or has ended.
 */
export async function startModelServer(port = 0) {
  const requests = [];
  const events = new EventEmitter();
  let count = 0;

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (pathname === "/_requests") return sendJson(response, 200, requests);

    const body = parse(await readAll(request));
    const wire = WIRES.find((candidate) => candidate.matches(pathname));
    const asked = wire?.read(body) ?? { script: "", results: [], tools: [] };
    const record = {
      id: ++count, path: pathname, wire: wire?.name ?? null, ...asked, body,
      startedAt: Date.now(), finishedAt: null, closedAt: null, closedEarly: false, chunks: 0,
    };
    requests.push(record);
    if (requests.length > KEPT_RECORDS) requests.shift();
    response.on("close", () => {
      record.closedAt = Date.now();
      record.closedEarly = !response.writableFinished;
      events.emit("change", record);
    });
    events.emit("change", record);

    if (wire === undefined) return sendJson(response, ...otherAnswer(pathname));
    const steps = asked.script === "" ? [] : responseSteps(asked.script, asked.results.length, asked.tools);
    if (wire.streams(pathname, body)) {
      await stream(response, wire, steps, record, events);
    } else {
      sendJson(response, 200, wire.whole(steps, record.id));
    }
    record.finishedAt = Date.now();
  });

  await new Promise((bound, failed) => {
    server.once("error", failed);
    server.listen(port, "127.0.0.1", bound);
  });
  return {
    port: server.address().port,
    requests,
    events,
    close() {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

async function stream(response, wire, steps, record, events) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  const send = (value) => {
    const event = value.type === undefined ? "" : `event: ${value.type}\n`;
    response.write(`${event}data: ${JSON.stringify(value)}\n\n`);
    if (++record.chunks === 1) events.emit("change", record);
  };
  wire.start(record.id).forEach(send);
  for (const step of steps) {
    const pieces = step.kind === "say" ? words(step.text) : [step.text];
    for (const [at, text] of pieces.entries()) {
      if (step.pause > 0) await pause(step.pause);
      if (response.destroyed) return;
      const piece = { ...step, text, whole: step.text, first: at === 0, last: at === pieces.length - 1 };
      wire.step(piece, record.id).forEach(send);
    }
  }
  wire.end(steps, record.id).forEach(send);
  response.end(wire.done);
}

/** The few calls beside the model itself that an agent makes. */
function otherAnswer(path) {
  if (path.endsWith(":countTokens")) return [200, { totalTokens: 11 }];
  if (path.endsWith("/count_tokens")) return [200, { input_tokens: 11 }];
  if (path.endsWith("/models")) return [200, { object: "list", data: [{ id: "mock", object: "model" }] }];
  return [404, { error: { code: 404, message: `nothing is served at ${path}` } }];
}

function sendJson(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function readAll(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { port } = await startModelServer(Number(process.argv[2] ?? 0));
  console.log(port);
}
