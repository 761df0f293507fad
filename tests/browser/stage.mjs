// An agent behind the daemon, and the example's page in front of it: everything a browser needs, on free ports.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { startDaemon, stopDaemon } from "../agents/daemon.mjs";
import { within } from "../clients/report.mjs";

const START_TIMEOUT = 30_000;
/** How long the daemon may take until a run that was stopped has ended. */
const ENDED_WITHIN = 15_000;
const LOOK_AGAIN = 50;
/** A port at which nothing answers. */
const NOWHERE = "http://127.0.0.1:9/agui";

/**
 * Starts the daemon with the agent that `cast` makes ready (`{agent, words, tearDown}`), and the page in the folder
 * `app`, which was built before. Leaves nothing behind if it fails.
 */
export async function setStage(program, app, cast) {
  const stage = new Stage();
  try {
    await stage.setUp(program, app, cast);
  } catch (error) {
    await stage.tearDown();
    throw error;
  }
  return stage;
}

class Stage {
  token = randomUUID();
  /** What has to be undone, the last first. */
  #undo = [];

  async setUp(program, app, cast) {
    const dir = mkdtempSync(join(tmpdir(), "agui-browser-"));
    this.#undo.push(() => rmSync(dir, { recursive: true, force: true }));
    const workdir = join(dir, "work");
    mkdirSync(workdir);
    writeFileSync(join(workdir, "note.txt"), "the note says hello\n");
    const { agent, words, tearDown } = await cast(dir, workdir, program);
    this.words = words;
    this.#undo.push(tearDown);
    this.daemon = await startDaemon(program, join(dir, "daemon"), agent, {}, this.token);
    this.#undo.push(() => this.daemon.child.kill("SIGKILL"));
    this.url = await this.startPage(app, this.daemon.url);
    this.app = app;
  }

  /** Serves the page as it was built, in front of the agent at that address. Resolves to its own. */
  async startPage(app, agent) {
    const { child, address } = startPage(app, { AGENT_URL: agent, AGENT_TOKEN: this.token });
    this.#undo.push(() => child.kill("SIGKILL"));
    return within(START_TIMEOUT, "address from the page", address);
  }

  /** Serves the page in front of an agent that is not there. */
  startLonelyPage() {
    return this.startPage(this.app, NOWHERE);
  }

  /** Resolves to the last run of a thread, as the daemon knows it, once it has ended. */
  async endOf(thread) {
    const deadline = Date.now() + ENDED_WITHIN;
    for (;;) {
      const response = await fetch(`${this.daemon.url}/threads/${thread}`, {
        headers: { authorization: `Bearer ${this.token}` },
      });
      assert.equal(response.status, 200, await response.clone().text());
      const { liveRun, lastRun } = await response.json();
      if (!liveRun && lastRun) return lastRun;
      if (Date.now() > deadline) throw new Error(`the run goes on: ${JSON.stringify(liveRun)}`);
      await pause(LOOK_AGAIN);
    }
  }

  /** Stops the daemon in order; resolves to the number that it ends with. */
  async stopDaemon() {
    return (await stopDaemon(this.daemon)).code;
  }

  async tearDown() {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
  }
}

/** Starts the page; `address` resolves to where it answers. */
function startPage(app, settings) {
  const next = join(app, "node_modules/next/dist/bin/next");
  const child = spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: app,
    // What somebody has in an .env.local of the folder is not to count.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, AGENT_TOKEN_FILE: "", PAGE_HOST: "", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = [];
  const address = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        const [url] = line.match(/http:\/\/127\.0\.0\.1:\d+/) ?? [];
        if (url) resolve(url);
        else log.push(line);
      });
    }
    once(child, "exit").then(() => reject(new Error(`the page ended at once:\n${log.join("\n")}`)), reject);
  });
  address.catch(() => {});
  return { child, address };
}
