// Drives the demo agent at AGUI_URL with every version of the client there is a folder for, each in a
// process of its own: `AGUI_URL=… AGUI_TOKEN=… node run.mjs`. Fails when one of them does.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

for (const name of ["AGUI_URL", "AGUI_TOKEN"]) {
  if (!process.env[name]) {
    console.error(`${name} is not set`);
    process.exit(2);
  }
}

const drive = fileURLToPath(new URL("drive.mjs", import.meta.url));
const folders = readdirSync(new URL(".", import.meta.url)).filter((name) => /^v\d/.test(name)).sort();
const failed = folders.filter((folder) => spawnSync(process.execPath, [drive, folder], { stdio: "inherit" }).status !== 0);
console.log(failed.length === 0 ? `all of ${folders.join(", ")} passed` : `failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
