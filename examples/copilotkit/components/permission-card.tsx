"use client";

import type { Permission } from "./asked";
import { Card, useAnswer, type Send } from "./card";
import { Values } from "./values";

interface Props extends Partial<Permission> {
  title: string;
  /** There is none before the call is complete, and none any more once it has been answered. */
  onAnswer?: Send;
  answered?: string;
}

/** A request for permission: what is to be done, and the answers that the agent offers. */
export function PermissionCard({ title, path, params, options = [], diffs = [], onAnswer, answered }: Props) {
  const { answer, canAnswer } = useAnswer(onAnswer);
  return (
    <Card className="permission" title={title}>
      {path && <code className="path">{path}</code>}
      {diffs.length > 0
        ? diffs.map((diff) => <Diff key={diff.path} {...diff} />)
        : params !== undefined && <Values of={params} />}
      {answered === undefined ? (
        <div className="actions">
          {options.map(({ optionId, name, kind }) => (
            <button key={optionId} type="button" data-kind={kind} disabled={!canAnswer} onClick={() => answer({ optionId })}>
              {name}
            </button>
          ))}
        </div>
      ) : (
        <p className="answer">{chosen(options, answered)}</p>
      )}
    </Card>
  );
}

/** The answer that was given, in the agent's words. */
function chosen(options: Permission["options"], answered: string): string {
  return options.find(({ optionId }) => answered === JSON.stringify({ optionId }))?.name ?? answered;
}

function Diff({ path, oldText, newText }: NonNullable<Permission["diffs"]>[number]) {
  return (
    <pre className="diff" aria-label={`Change of ${path}`}>
      {lines(oldText).map((line, at) => (
        <del key={`-${at}`}>{line}</del>
      ))}
      {lines(newText).map((line, at) => (
        <ins key={`+${at}`}>{line}</ins>
      ))}
    </pre>
  );
}

function lines(text: string | null | undefined): string[] {
  return text ? text.replace(/\n$/, "").split("\n") : [];
}
