// Uses the example's page in a real browser, with the demo and with real agents behind it, through CopilotKit's Node
// runtime with each version of the client that there is a built page for:
//
//   AGUI_SERVE=target/debug/agui-serve node run.mjs [demo|AGENT]...
//
// Without a name, the demo and Copilot CLI. Pictures of each step are left in shots/.

import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { check, finish, say } from "../clients/report.mjs";
import { demo, real } from "./casts.mjs";
import { checks, silence } from "./checks.mjs";
import { openBrowser, visit } from "./page.mjs";
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
for (const [version, app] of Object.entries(APPS).filter(([, folder]) => existsSync(folder))) {
  for (const name of names) {
    const stage = await setStage(program, app, name === "demo" ? demo : real(name));
    const enter = () => visit(browser, stage.page.url, path(`shots/${name}-${version}`));
    const { words } = stage;
    const page = await enter();
    const patient = await enter();
    const waiting = silence({ page: patient, words });
    waiting.catch(() => {});
    const quiet = async (run, page) => {
      await run();
      const complaints = await page.takeComplaints();
      if (complaints.length > 0) throw new Error(`the page complains: ${complaints.join(" | ")}`);
    };
    for (const [what, run] of Object.entries(checks)) {
      await check(`${name} ${version} ${what}`, () => quiet(() => run({ page, stage, words }), page));
    }
    await check(`${name} ${version} silence`, () => quiet(() => waiting, patient));
    await Promise.all([page.close(), patient.close()]);
    await check(`${name} ${version} daemon-ends-in-order`, async () => {
      const { code } = await stage.tearDown();
      if (code !== 0) throw new Error(`it ended with ${code}`);
    });
  }
}
await browser.close();
finish();
