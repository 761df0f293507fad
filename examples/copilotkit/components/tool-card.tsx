"use client";

import { Values } from "./values";

interface Props {
  name: string;
  args: unknown;
  status: string;
  result?: string;
}

/** One call of a tool: its name, what it was called with, and what came of it. */
export function ToolCard({ name, args, status, result }: Props) {
  const isDone = status === "complete";
  return (
    <details className="tool" data-status={status} data-tool={name}>
      <summary>
        <span className="dot" aria-hidden />
        <code>{name}</code>
        <span className="brief">{brief(args)}</span>
        {isDone ? <span className="status">done</span> : <Unfinished />}
      </summary>
      <Values of={args} />
      {isDone && <pre className="result">{result}</pre>}
    </details>
  );
}

/** Without a result a call runs, or waits for somebody, or was stopped: which one the chat around it knows, see globals.css. */
function Unfinished() {
  return (
    <>
      <span className="status while-running">running</span>
      <span className="status otherwise">open</span>
    </>
  );
}

/** The plain ones among the arguments, in a line. */
function brief(args: unknown): string {
  return Object.values(args ?? {}).filter((value) => typeof value !== "object").join(", ");
}
