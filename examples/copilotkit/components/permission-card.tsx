"use client";

import { useState } from "react";

/** What the agent is about to do. An option is an answer that the agent offers, in its own words. */
export interface Permission {
  toolName: string;
  path: string;
  params: unknown;
  options: { optionId: string; name: string; kind: string }[];
  diffs: { path: string; oldText?: string; newText: string }[];
}

interface Props extends Partial<Permission> {
  title: string;
  /** Takes the answer. There is none before the call is complete, and none any more once it has been answered. */
  onAnswer?: (answer: unknown) => void;
  answered?: string;
}

export function PermissionCard({ title, path, params, options = [], diffs = [], onAnswer, answered }: Props) {
  const [isSent, setIsSent] = useState(false);
  const answer = (optionId: string) => {
    setIsSent(true);
    onAnswer?.({ optionId });
  };
  return (
    <section className="card permission" aria-label="Permission">
      <h3>{title}</h3>
      {path && <code className="path">{path}</code>}
      {diffs.length > 0
        ? diffs.map((diff) => <Diff key={diff.path} {...diff} />)
        : params !== undefined && <pre>{JSON.stringify(params, null, 2)}</pre>}
      {answered === undefined ? (
        <div className="actions">
          {options.map(({ optionId, name, kind }) => (
            <button key={optionId} className={kind} disabled={isSent || !onAnswer} onClick={() => answer(optionId)}>
              {name}
            </button>
          ))}
        </div>
      ) : (
        <p className="answer">{chosen(options, answered)}</p>
      )}
    </section>
  );
}

/** The answer that was given, in the agent's words. */
function chosen(options: Permission["options"], answered: string): string {
  return options.find(({ optionId }) => answered === JSON.stringify({ optionId }))?.name ?? answered;
}

function Diff({ oldText, newText }: { oldText?: string; newText: string }) {
  return (
    <pre className="diff">
      {lines(oldText).map((line, at) => (
        <del key={`-${at}`}>{line}</del>
      ))}
      {lines(newText).map((line, at) => (
        <ins key={`+${at}`}>{line}</ins>
      ))}
    </pre>
  );
}

function lines(text = ""): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
