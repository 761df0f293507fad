// Uses the example's page in a real browser, with the demo and with real agents behind it, through CopilotKit's Node
// runtime with the client that CopilotKit has itself and with the newest one:
//
//   AGUI_SERVE=target/debug/agui-serve node run.mjs [demo|AGENT]...
//
// Without a name, the demo and Copilot CLI. Pictures of each step are left in shots/.

import assert from "node:assert/strict";
import { realpathSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { check, finish, say } from "../clients/report.mjs";
import { demo, real } from "./casts.mjs";
import { away, checks, rough, silence } from "./checks.mjs";
import { openBrowser, visit } from "./page.mjs";
import * as route from "./route.mjs";
import { setStage } from "./stage.mjs";

if (!process.env.AGUI_SERVE) {
  say("AGUI_SERVE, the path of the daemon's program, is not set");
  process.exit(2);
}
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
/** The page with the version of @ag-ui/client that CopilotKit has itself, and with the newest one. */
const APPS = { "0.0.59": path("../../examples/copilotkit"), "1.0.0": path(".app-1.0.0") };

const program = realpathSync(process.env.AGUI_SERVE);
const names = process.argv.length > 2 ? process.argv.slice(2) : ["demo", "copilot"];
const browser = await openBrowser();
for (const [version, app] of Object.entries(APPS)) {
  for (const name of names) await perform(name, version, app);
}
await browser.close();
finish();

/** Has one agent answer a person on the page in that folder, in everything that there is a check for. */
async function perform(name, version, app) {
  const shots = path(`shots/${name}-${version}`);
  rmSync(shots, { recursive: true, force: true });
  const titled = (what) => `${name} ${version} ${what}`;
  let stage;
  await check(titled("stage"), async () => {
    stage = await setStage(program, app, name === "demo" ? demo : real(name));
  });
  if (!stage) return;
  try {
    await play(stage, shots, titled);
    await check(titled("daemon-ends-in-order"), async () => assert.equal(await stage.stopDaemon(), 0));
  } finally {
    await stage.tearDown();
  }
}

async function play(stage, shots, titled) {
  const { words } = stage;
  const [page, patient, lonely] = [
    await visit(browser, stage.url, shots),
    await visit(browser, stage.url, shots),
    await visit(browser, await stage.startLonelyPage(), shots),
  ];
  const checked = (what, page, run) => check(titled(what), async () => {
    await page.takeComplaints();
    const remark = await run();
    assert.deepEqual(await page.takeComplaints(), [], "what the page complains of");
    return remark;
  });
  for (const [what, run] of Object.entries(route.checks)) await check(titled(what), () => run({ stage, program }));
  // Beside all others, as it takes so long.
  const waiting = silence({ page: patient, words });
  waiting.catch(() => {});
  for (const [what, run] of Object.entries(checks)) await checked(what, page, () => run({ page, stage, words }));
  await checked("silence", patient, () => waiting);
  for (const [what, run] of Object.entries(rough)) await checked(what, page, () => run({ page, stage, words }));
  await checked("away", lonely, () => away({ page: lonely }));
  await check(titled("the-token-stays-on-the-server"), async () => {
    const received = await Promise.all(page.received);
    assert.ok(received.length > 0);
    assert.ok(!received.some((text) => text.includes(stage.token)));
  });
  await Promise.all([page, patient, lonely].map((one) => one.close()));
}
