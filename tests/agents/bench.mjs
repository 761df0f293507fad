// One agent behind the daemon, with everything around it that a check looks at: the scripted model, the
// stock client, and the processes that the agent has started.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { within } from "../clients/report.mjs";
import { parseBody } from "../clients/wire.mjs";
import { startDaemon, stopDaemon } from "./daemon.mjs";
import { marked, untilMarked } from "./processes.mjs";
import { WAITING, dismiss, engage, ownCall } from "./scripted.mjs";

/** How long an agent may take until it does something: several seconds go into its start alone. */
const BUSY_WITHIN = 60_000;
/** How long a process may take to go once nothing needs it any more. */
const GONE_WITHIN = 10_000;
const BUSY_PAUSE = 100;
const SLOW = "[[slow:200]]";

/** Writes the agent's home, starts the model, and resolves to the bench, whose daemon has yet to be started. */
export async function setUp(name, program, runner) {
  const dir = mkdtempSync(join(tmpdir(), `agui-${name}-`));
  const workdir = join(dir, "work");
  mkdirSync(workdir);
  writeFileSync(join(workdir, "note.txt"), "the note says hello\n");
  const engaged = await engage(name, dir, workdir, { mayEdit: true });
  return new Bench({ program: realpathSync(program), runner, dir, workdir, ...engaged });
}

class Bench {
  token = randomUUID();

  constructor(parts) {
    Object.assign(this, parts);
  }

  /** Starts a daemon in place of the one before, with `settings` for its agent. */
  async startDaemon(settings) {
    if (this.daemon) await stopDaemon(this.daemon);
    this.daemon = await startDaemon(this.program, join(this.dir, "daemon"), this.agent, settings, this.token);
  }

  async tearDown() {
    await stopDaemon(this.daemon, "SIGKILL");
    await dismiss(this);
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A stock client on a thread of its own. */
  newClient() {
    return this.runner.newAgent(this.daemon.url, this.token);
  }

  /** Posts a run on a thread without a client; resolves to the response. */
  post(threadId, messages) {
    return fetch(this.daemon.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${this.token}` },
      body: JSON.stringify({ threadId, runId: randomUUID(), messages, state: {}, tools: [], context: [], forwardedProps: {} }),
    });
  }

  /** Runs on a thread as soon as the daemon is done with the run before; resolves to the events. */
  async whenFree(threadId, messages) {
    const deadline = Date.now() + GONE_WITHIN;
    for (;;) {
      const response = await this.post(threadId, messages);
      if (response.status === 200) return parseBody(await response.text());
      const refusal = await response.text();
      if (response.status !== 409 || Date.now() > deadline) throw new Error(`${response.status}: ${refusal}`);
      await pause(BUSY_PAUSE);
    }
  }

  /** The script of a call of one of the tools in the agent's recipe. */
  call(tool, ...values) {
    return ownCall(this.recipe, tool, ...values);
  }

  /** The newest request for which the model played a script with this text; those without tools are for titles. */
  modelCall(text) {
    return this.model.requests.findLast(({ script, tools }) => script.includes(text) && tools.length > 0);
  }

  /** How often the daemon has started the agent and has not ended it yet: each time with a supervisor. */
  supervised() {
    return marked(this.mark).filter(({ program }) => program === this.program).length;
  }

  /** The ids of the agent's processes, the oldest first. */
  processes() {
    return marked(this.mark).filter(({ program }) => program !== this.program).map(({ pid }) => pid);
  }

  /** What the assistant said to a client, message by message, without what the agent says of itself. */
  texts({ messages }) {
    const { chatter } = this.recipe;
    const texts = messages.filter(({ role, content }) => role === "assistant" && content).map(({ content }) => content);
    return texts.filter((text) => !chatter?.test(text));
  }

  /** Resolves when the model's answer to that request is over, by its end or because the agent hung up. */
  async modelCallEnds(modelCall) {
    const end = async () => {
      while (modelCall.closedAt === null) await once(this.model.events, "change");
    };
    await within(GONE_WITHIN, "end of the model's stream", end());
  }

  /** Starts a run that says a word for long; resolves to `{run}` once the first arrives. */
  async startSlowRun(client, word = "word") {
    this.runner.ask(client, `${SLOW}[[say:${`${word} `.repeat(300).trim()}]]`);
    let run;
    const text = new Promise((heard) => {
      run = this.runner.start(client, ({ event }) => event.delta.includes(word) && heard());
    });
    await within(BUSY_WITHIN, "text from the agent", Promise.race([text, endsTooEarly(run)]));
    return { run };
  }

  /** Starts a run in which a command of the agent runs for long; resolves to `{run}` once it does. */
  async startCommand(client) {
    this.runner.ask(client, this.commandScript());
    const run = this.runner.start(client);
    await Promise.race([this.commandRuns(), endsTooEarly(run)]);
    return { run };
  }

  commandScript() {
    const tool = "unasked" in this.recipe.tools ? "unasked" : "shell";
    return `${this.call(tool, WAITING)}[[say:Awake.]]`;
  }

  async commandRuns() {
    const runs = (found) => found.some(({ command }) => command === WAITING);
    await untilMarked(this.mark, BUSY_WITHIN, "the command was not started", runs);
  }

  /** Kills one process of the agent; `pick` chooses among them, the oldest first. */
  killOne(pick) {
    process.kill(pick(this.processes()), "SIGKILL");
  }

  /** Resolves when no process of the agent is left, nor one that it has started. */
  async nothingLeft() {
    await untilMarked(this.mark, GONE_WITHIN, "left behind", (found) => found.length === 0);
  }
}

/** What a user says. */
export function message(content) {
  return { id: randomUUID(), role: "user", content };
}

async function endsTooEarly(run) {
  throw new Error(`the run ended before anything was done to it: ${JSON.stringify(await run)}`);
}
