"use client";

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
        <span className="status">{isDone ? "done" : "running"}</span>
      </summary>
      <pre>{JSON.stringify(args, null, 2)}</pre>
      {isDone && <pre className="result">{result}</pre>}
    </details>
  );
}

/** The plain ones among the arguments, in a line. */
function brief(args: unknown): string {
  return Object.values(args ?? {}).filter((value) => typeof value !== "object").join(", ");
}
