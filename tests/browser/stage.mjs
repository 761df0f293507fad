// An agent behind the daemon, and the example's page in front of it: everything a browser needs, on free ports.

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

const START_TIMEOUT = 20_000;
/** How long the daemon may take until a run that was stopped has ended. */
const ENDED_WITHIN = 15_000;
const LOOK_AGAIN = 50;

/**
 * Starts the daemon with one agent, which `cast` makes ready (`{agent, words, tearDown}`), and the page in the
 * folder `app`, which was built before.
 */
export async function setStage(program, app, cast) {
  const dir = mkdtempSync(join(tmpdir(), "agui-browser-"));
  const workdir = join(dir, "work");
  mkdirSync(workdir);
  writeFileSync(join(workdir, "note.txt"), "the note says hello\n");
  const token = randomUUID();
  const player = await cast(dir, workdir, program);
  const daemon = await startDaemon(program, join(dir, "daemon"), player.agent, {}, token);
  const page = await startPage(app, { AGENT_URL: daemon.url, AGENT_TOKEN: token });
  return new Stage({ dir, workdir, token, player, daemon, page });
}

class Stage {
  constructor(parts) {
    Object.assign(this, parts);
    this.words = parts.player.words;
  }

  /** Resolves to the last run of a thread, as the daemon knows it, once it has ended. */
  async endOf(thread) {
    const deadline = Date.now() + ENDED_WITHIN;
    for (;;) {
      const response = await fetch(`${this.daemon.url}/threads/${thread}`, {
        headers: { authorization: `Bearer ${this.token}` },
      });
      const { liveRun, lastRun } = await response.json();
      if (!liveRun && lastRun) return lastRun;
      if (Date.now() > deadline) throw new Error(`the run goes on: ${JSON.stringify(liveRun)}`);
      await pause(LOOK_AGAIN);
    }
  }

  async tearDown() {
    this.page.child.kill("SIGKILL");
    const end = await stopDaemon(this.daemon);
    await this.player.tearDown();
    rmSync(this.dir, { recursive: true, force: true });
    return end;
  }
}

/** Serves the page as it was built. Resolves to `{url, child, log}` once it answers. */
async function startPage(app, settings) {
  const next = join(app, "node_modules/next/dist/bin/next");
  const child = spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: app,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = [];
  const address = new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        log.push(line);
        const [url] = line.match(/http:\/\/127\.0\.0\.1:\d+/) ?? [];
        if (url) resolve(url);
      });
    }
    once(child, "exit").then(() => reject(new Error(`the page ended at once:\n${log.join("\n")}`)), reject);
  });
  return { url: await within(START_TIMEOUT, "address from the page", address), child, log };
}
