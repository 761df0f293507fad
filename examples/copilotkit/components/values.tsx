"use client";

/** What a tool is called with, for people: each value under its name, and texts as they are. */
export function Values({ of }: { of: unknown }) {
  if (typeof of !== "object" || of === null) return <pre>{text(of)}</pre>;
  return (
    <dl className="values">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
