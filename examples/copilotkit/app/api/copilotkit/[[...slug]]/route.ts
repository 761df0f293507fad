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
    const message = "only the page itself may call this; PAGE_HOST says where it is reached, unless that is localhost";
    return Response.json({ error: "forbidden", message }, { status: 403 });
  }
  return copilot(request);
}

export { handle as GET, handle as POST };

/** Where agui-serve answers: its default agent under this URL, each of them under `/NAME`. */
function agentUrl(): string {
  const { AGENT_URL } = process.env;
  if (!AGENT_URL) throw new Error("AGENT_URL is not set; `agui-serve connect copilotkit --env` prints it");
  return AGENT_URL;
}

function authorization(): Record<string, string> {
  const { AGENT_TOKEN, AGENT_TOKEN_FILE } = process.env;
  const token = AGENT_TOKEN || (AGENT_TOKEN_FILE && read(AGENT_TOKEN_FILE));
  if (!token) return {};
  // Else the error that says so would have the token in it, and the browser gets that.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("the token has characters that no token has");
  return { Authorization: `Bearer ${token}` };
}

/** The path stays out of the error, which the browser gets. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new Error("AGENT_TOKEN_FILE cannot be read; agui-serve makes it when it first starts");
  }
}

/**
 * Whoever calls this drives the agent, so no other site that is open in the same browser may: neither by posting here,
 * nor by having its own name resolve to this machine. PAGE_HOST is the host, with its port, under which the page is reached,
 * where that is not localhost. It is no login: any program can pretend to be the page, and a page that others can reach
 * needs a login as well.
 */
function isFromOwnPage({ method, headers }: Request): boolean {
  const host = headers.get("host") ?? "";
  const { PAGE_HOST } = process.env;
  const isOwnHost = PAGE_HOST ? host === PAGE_HOST : /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host);
  const origin = headers.get("origin");
  const isOwnOrigin = origin === null ? method === "GET" : origin === `http://${host}` || origin === `https://${host}`;
  const isOwnSite = ["same-origin", "none", null].includes(headers.get("sec-fetch-site"));
  return isOwnHost && isOwnOrigin && isOwnSite;
}
