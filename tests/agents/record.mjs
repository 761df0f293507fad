// Makes the transcripts in transcripts/, on which the translation of the ACP core is tested without the agents:
//
//   node record.mjs AGENT [FILE]
//
// Drives the agent as probe.mjs does, or takes what `probe.mjs AGENT FILE` has written. What is left is a JSON
// object a line, `{from: "agent" | "client", message}`, with every message in its order and whole but for this:
// the paths of this machine are other ones, long texts are cut, and long lists of what can be chosen are shortened.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const LONGEST_TEXT = 300;
const LONGEST_DESCRIPTION = 60;
/** What is kept of lists that grow with the agent and not with what it does. */
const LONGEST = { availableCommands: 4, availableModels: 6, options: 8, default: 40 };
const HERE = fileURLToPath(new URL(".", import.meta.url)).replace(/\/$/, "");

const [agent, file] = process.argv.slice(2);
const lines = read(file ?? probe()).map((line) => JSON.parse(line));
const { home, cwd } = lines.find(({ message }) => message.directories).message.directories;
// Without the first slash, because some agents leave it out.
const moved = [[cwd, "/srv/dev/project"], [home, "/srv/dev"], [HERE, "/srv/dev/agents"]]
  .map(([from, to]) => [from.slice(1), to.slice(1)])
  .concat([[basename(cwd), "work"], [basename(cwd).toLowerCase(), "work"]]);

const kept = lines
  .filter(({ from }) => from === "agent" || from === "client")
  .map(({ from, message }) => JSON.stringify({ from, message: lean(message) }));
mkdirSync(join(HERE, "transcripts"), { recursive: true });
writeFileSync(join(HERE, "transcripts", `${agent}.jsonl`), `${kept.join("\n")}\n`);

/** Runs the probe and resolves to the lines it has written. */
function probe() {
  const directory = mkdtempSync(join(tmpdir(), "record-"));
  const raw = join(directory, `${agent}.jsonl`);
  const { status } = spawnSync(process.execPath, [join(HERE, "probe.mjs"), agent, raw], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
  process.on("exit", () => rmSync(directory, { recursive: true }));
  return raw;
}

function read(path) {
  return readFileSync(path, "utf8").trimEnd().split("\n");
}

function lean(value, key) {
  if (typeof value === "string") {
    const text = moved.reduce((before, [from, to]) => before.replaceAll(from, to), value);
    return cut(text, key === "description" ? LONGEST_DESCRIPTION : LONGEST_TEXT);
  }
  if (Array.isArray(value)) return value.slice(0, LONGEST[key] ?? LONGEST.default).map((item) => lean(item));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, lean(member, name)]));
}

function cut(text, longest) {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
