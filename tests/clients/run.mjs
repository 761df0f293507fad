// Drives the demo agent at AGUI_URL with every version of the stock client there is a folder for, and with
// the Python programs, each in a process of its own: `AGUI_URL=… AGUI_TOKEN=… AGUI_SERVE=… node run.mjs`. Fails when
// one of them does.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

for (const name of ["AGUI_URL", "AGUI_TOKEN", "AGUI_SERVE"]) {
  if (!process.env[name]) {
    console.error(`${name} is not set`);
    process.exit(2);
  }
}

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const folders = readdirSync(path(".")).filter((name) => /^v\d/.test(name)).sort();
const clients = [
  ...folders.map((folder) => [folder, process.execPath, path("drive.mjs"), folder]),
  ...["threads", "asking", "restart"].flatMap((what) => (
    folders.map((folder) => [`${folder} ${what}`, process.execPath, path(`${what}.mjs`), folder])
  )),
  ...["chat.py", "asking.py", "validate.py"].map((program) => [program, path("python/.venv/bin/python"), path(`python/${program}`)]),
];
const failed = clients.filter(([, program, ...args]) => spawnSync(program, args, { stdio: "inherit" }).status !== 0);
const names = (some) => some.map(([name]) => name).join(", ");
console.log(failed.length === 0 ? `all of ${names(clients)} passed` : `failed: ${names(failed)}`);
process.exitCode = failed.length === 0 ? 0 : 1;
