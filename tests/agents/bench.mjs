// One agent behind the daemon, with everything around it that a check looks at: the scripted model, the
// stock client, and the processes that the agent has started.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { within } from "../clients/report.mjs";
import { startDaemon, stopDaemon } from "./daemon.mjs";
import { startModelServer } from "./model-server.mjs";
import { marked, untilMarked } from "./processes.mjs";

/** How long an agent may take until it does something: several seconds go into its start alone. */
const BUSY_WITHIN = 60_000;
/** How long a process may take to go once nothing needs it any more. */
const GONE_WITHIN = 10_000;
const MARK = "AGUI_TEST_MARK";
const SLOW = `[[slow:200]][[say:${"word ".repeat(200).trim()}]]`;

/** Writes the agent's home, starts the model and the daemon, and resolves to the bench. */
export async function setUp(name, program, runner) {
  const { prepare, tools } = await import(`./${name}/recipe.mjs`);
  const dir = mkdtempSync(join(tmpdir(), `agui-${name}-`));
  const workdir = join(dir, "work");
  mkdirSync(workdir);
  writeFileSync(join(workdir, "note.txt"), "the note says hello\n");
  const model = await startModelServer();
  const { command, args, env } = prepare(join(dir, "home"), model.port, { mayEdit: true });
  const secret = randomUUID();
  const agent = { name, command, args, workdir, env: { ...env, [MARK]: secret } };
  const bench = new Bench({ program: realpathSync(program), runner, tools, dir, workdir, model, agent, mark: `${MARK}=${secret}` });
  await bench.startDaemon();
  return bench;
}

class Bench {
  token = randomUUID();

  constructor(parts) {
    Object.assign(this, parts);
  }

  async startDaemon() {
    this.daemon?.child.kill("SIGKILL");
    this.daemon = await startDaemon(this.program, join(this.dir, "daemon"), this.agent, this.token);
  }

  async tearDown() {
    await stopDaemon(this.daemon, "SIGKILL");
    marked(this.mark).forEach(({ pid }) => process.kill(pid, "SIGKILL"));
    await this.model.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A stock client on a thread of its own. */
  newClient() {
    return this.runner.newAgent(this.daemon.url, this.token);
  }

  /** The script of a call of one of the agent's tools, `read` or `shell`. */
  call(tool, argument) {
    const [name, args] = this.tools[tool](argument);
    return `[[call:${name} ${JSON.stringify(args)}]]`;
  }

  /** The newest request for which the model played a script with this text. */
  modelCall(text) {
    return this.model.requests.findLast(({ script }) => script.includes(text));
  }

  /** Resolves when the model's answer to that request is over, by its end or because the agent hung up. */
  async modelCallEnds(modelCall) {
    const end = async () => {
      while (modelCall.closedAt === null) await once(this.model.events, "change");
    };
    await within(GONE_WITHIN, "end of the model's stream", end());
  }

  /** Starts a run that streams text for long; resolves to `{run}` once the text arrives. */
  async startSlowRun(client) {
    this.runner.ask(client, SLOW);
    let run;
    const text = new Promise((heard) => {
      run = this.runner.start(client, heard);
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
    return `${this.call("shell", "sleep 300")}[[say:Awake.]]`;
  }

  async commandRuns() {
    const runs = (found) => found.some(({ command }) => command === "sleep 300");
    await untilMarked(this.mark, BUSY_WITHIN, "the command was not started", runs);
  }

  /** Kills one process of the agent; `pick` chooses among them, the oldest first. */
  killOne(pick) {
    const { pid } = pick(marked(this.mark).filter(({ program }) => program !== this.program));
    process.kill(pid, "SIGKILL");
  }

  /** Resolves when no process of the agent is left, nor one that it has started. */
  async nothingLeft() {
    await untilMarked(this.mark, GONE_WITHIN, "left behind", (found) => found.length === 0);
  }
}

async function endsTooEarly(run) {
  throw new Error(`the run ended before anything was done to it: ${JSON.stringify(await run)}`);
}
