// The processes of this machine, read from /proc, which is the only way to see those that an agent started
// in a session of their own.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_AGAIN = 25;
/** Where the time of the start is in /proc/PID/stat, after the name. */
const STARTED = 19;

/** Every process below `root`. */
export function below(root) {
  const all = processes();
  const children = (pid) => all.filter((candidate) => candidate.parent === pid);
  const tree = (pid) => children(pid).flatMap((child) => [child, ...tree(child.pid)]);
  return tree(root);
}

/** Every living process that was started with `mark` in its environment. */
export function marked(mark) {
  return processes().filter(({ pid }) => read(pid, "environ").split("\0").includes(mark));
}

/**
 * Resolves to what `accept` returns for the processes with `mark` once that is truthy. Nothing announces
 * the end of a process that is not our child, so this looks again and again until the time is up.
 */
export async function untilMarked(mark, milliseconds, what, accept) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const found = marked(mark);
    const accepted = accept(found);
    if (accepted) return accepted;
    if (Date.now() > deadline) throw new Error(`${what}: ${JSON.stringify(found, null, 1)}`);
    await pause(LOOK_AGAIN);
  }
}

/** `{pid, parent, group, session, started, program, command}` of everything that runs, the oldest first. */
function processes() {
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).flatMap((entry) => {
    const stat = read(entry, "stat");
    if (stat === "") return [];
    const fields = stat.replace(/^.*\) /s, "").split(" ").map(Number);
    const [, parent, group, session] = fields;
    const command = read(entry, "cmdline").split("\0").join(" ").trim();
    const started = fields[STARTED];
    return [{ pid: Number(entry), parent, group, session, started, program: programOf(entry), command }];
  }).sort((one, other) => one.started - other.started || one.pid - other.pid);
}

function programOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}

/** The text of a file below /proc/PID, or nothing when the process has ended meanwhile. */
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
