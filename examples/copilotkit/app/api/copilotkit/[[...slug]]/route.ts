// What the browser talks to: CopilotKit's runtime, in front of agui-serve. The token stays here, on the server.

import { readFileSync } from "node:fs";

import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, createCopilotRuntimeHandler } from "@copilotkit/runtime/v2";

const copilot = createCopilotRuntimeHandler({
  basePath: "/api/copilotkit",
  runtime: new CopilotRuntime({
    // "default" is the agent of a page that names none. Made anew for each request, so that a new token counts at once.
    agents: () => ({ default: new HttpAgent({ url: agentUrl(), headers: authorization() }) }),
  }),
});

async function handle(request: Request): Promise<Response> {
  if (!isFromOwnPage(request)) {
    return Response.json({ error: "forbidden", message: "only the page itself may call this" }, { status: 403 });
  }
  return copilot(request);
}

export { handle as GET, handle as POST };

/** Where agui-serve answers; under this URL it serves its default agent, under `/NAME` each of them. */
function agentUrl(): string {
  return process.env.AGENT_URL ?? "http://127.0.0.1:8787/agui";
}

function authorization(): Record<string, string> {
  const { AGENT_TOKEN, AGENT_TOKEN_FILE } = process.env;
  const token = AGENT_TOKEN || (AGENT_TOKEN_FILE && readFileSync(AGENT_TOKEN_FILE, "utf8").trim());
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * Whoever calls this drives the agent, so no other site that is open in the same browser may: neither by posting here,
 * nor by having its own name resolve to this machine. PAGE_HOST is the host, with its port, under which the page is reached,
 * where that is not localhost. It is no login: a page that others can reach needs one as well.
 */
function isFromOwnPage({ headers }: Request): boolean {
  const host = headers.get("host") ?? "";
  const origin = headers.get("origin");
  const { PAGE_HOST } = process.env;
  const isOwn = PAGE_HOST ? host === PAGE_HOST : /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host);
  return isOwn && (origin === null || origin === `http://${host}` || origin === `https://${host}`);
}
