// What the page's server does by itself, without a browser: who may call its route, and how it is told of the daemon.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const checks = {
  async "only-its-own-page-may-call"({ stage }) {
    const { host, port } = new URL(stage.url);
    const own = { host };
    const page = { ...own, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
    const cases = [
      ["GET", own, true],
      ["GET", page, true],
      ["POST", page, true],
      ["POST", own, false],
      ["GET", { host: "evil.example" }, false],
      ["GET", { host: `localhost.evil.example:${port}` }, false],
      ["GET", { host: `evil.example:${port}`, origin: `http://evil.example:${port}` }, false],
      ["GET", { ...own, "sec-fetch-site": "cross-site" }, false],
      ["POST", { ...page, "sec-fetch-site": "same-site" }, false],
      ...["http://evil.example", "null", "http://localhost:1", `http://${host}.evil.example`].flatMap((origin) => [
        ["GET", { ...own, origin }, false],
        ["POST", { ...own, origin }, false],
      ]),
    ];
    for (const [method, headers, isOwn] of cases) {
      const status = await call(stage.url, method, headers);
      assert.equal(status !== 403, isOwn, `${method} with ${JSON.stringify(headers)} is answered with ${status}`);
    }
  },

  async "no-frames-and-no-foreign-images"({ stage }) {
    const { headers } = await fetch(stage.url);
    const policy = headers.get("content-security-policy").split("; ");
    assert.ok(policy.includes("frame-ancestors 'none'") && policy.includes("img-src 'self' data: blob:"), policy.join());
  },

  async "the-env-file-is-read-as-it-was-meant"({ stage, program }) {
    const { loadEnvConfig } = createRequire(join(stage.app, "package.json"))("@next/env");
    const dir = mkdtempSync(join(tmpdir(), "agui-env-"));
    try {
      for (const name of ["plain", "it's", "a b#c", "$HOME", "${HOME:-x}", "`it's`"]) {
        const state = join(dir, name);
        const env = { PATH: process.env.PATH, HOME: dir, AGUI_STATE_DIR: state, AGUI_PORT: "8797" };
        const { stdout } = spawnSync(program, ["connect", "copilotkit", "--env"], { env, encoding: "utf8" });
        writeFileSync(join(dir, ".env.local"), stdout);
        // What is in the environment wins, and what was read before is there.
        delete process.env.AGENT_TOKEN_FILE;
        delete process.env.AGENT_URL;
        const read = loadEnvConfig(dir, false, { info() {}, error: assert.fail }, true).combinedEnv;
        assert.equal(read.AGENT_TOKEN_FILE, join(state, "token"));
        assert.equal(read.AGENT_URL, "http://127.0.0.1:8797/agui");
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

/** Calls the route with these headers, which no fetch would send so; resolves to the status. */
async function call(url, method, headers) {
  const path = method === "GET" ? "info" : "agent/default/stop/nothing";
  const sent = request(new URL(`/api/copilotkit/${path}`, url), { method, headers });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}
