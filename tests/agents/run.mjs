// Drives real ACP agents through the daemon with the stock 1.0 client, while a scripted model server plays
// the model and /proc shows what is left behind:
//
//   AGUI_SERVE=target/debug/agui-serve node run.mjs [AGENT[:SET]]...
//
// Without a name, every agent that there is a recipe for; with a set's name (`speaking`, `asking`, …) only that set of checks.

import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { check, finish, say } from "../clients/report.mjs";
import { createRunner } from "../clients/runner.mjs";
import * as client from "../clients/v1.0.0/client.mjs";
import { setUp } from "./bench.mjs";
import * as asking from "./asking.mjs";
import * as ending from "./ending.mjs";
import * as lasting from "./lasting.mjs";
import * as speaking from "./speaking.mjs";
import * as state from "./state.mjs";

const SETS = { speaking, state, asking, lasting, ending };

if (!process.env.AGUI_SERVE) {
  say("AGUI_SERVE, the path of the daemon's program, is not set");
  process.exit(2);
}
const here = fileURLToPath(new URL(".", import.meta.url));
const all = readdirSync(here).filter((name) => existsSync(`${here}${name}/recipe.mjs`));
const runner = createRunner(client);
for (const wanted of process.argv.length > 2 ? process.argv.slice(2) : all) {
  const [name, set] = wanted.split(":");
  if (set !== undefined && !(set in SETS)) throw new Error(`no set of checks is called ${set}`);
  const { platform } = await import(`./${name}/recipe.mjs`);
  if (platform !== undefined && platform !== `${process.platform}-${process.arch}`) {
    say(`no checks of ${name}, which is installed for ${platform} only`);
    continue;
  }
  const bench = await setUp(name, process.env.AGUI_SERVE, runner);
  for (const { settings, checks } of set === undefined ? Object.values(SETS) : [SETS[set]]) {
    await bench.startDaemon(settings);
    for (const [what, run] of Object.entries(checks)) {
      runner.forgive();
      await check(`${name} ${what}`, () => run(bench));
    }
  }
  await bench.tearDown();
}
finish();
