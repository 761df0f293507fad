"use client";

import { CopilotKitCoreErrorCode, type CopilotKitProviderProps } from "@copilotkit/react-core/v2";
import { useCallback, useState } from "react";

type OnError = NonNullable<CopilotKitProviderProps["onError"]>;

/** What CopilotKit's runtime says when nothing of a run has reached it. */
const NOT_REACHED = "INCOMPLETE_STREAM";

/** What went wrong outside of the conversation: the agent cannot be reached, a request was refused. */
export function useNotices() {
  const [notices, setNotices] = useState<string[]>([]);
  const notice: OnError = useCallback(({ error, code, context }) => {
    // Why a run failed the agent has said in the chat.
    if (code === CopilotKitCoreErrorCode.AGENT_RUN_ERROR_EVENT && context.runtimeErrorCode !== NOT_REACHED) return;
    const text = inWords(error.message);
    setNotices((known) => (known.includes(text) ? known : [...known, text].slice(-3)));
  }, []);
  const dismiss = useCallback(() => setNotices([]), []);
  return { notices, notice, dismiss };
}

/** What CopilotKit says for programs, for people. */
function inWords(message: string): string {
  // While something is asked it sends nothing else.
  if (/pending interrupt/.test(message)) return "Answer first what the agent asks; your message goes along with it.";
  // A refusal of agui-serve's: {"error": {"code", "message", …}}.
  const [, refusal] = message.match(/^HTTP \d+: .*?"message":"((?:[^"\\]|\\.)*)"/s) ?? [];
  return `The agent does not answer: ${refusal ? JSON.parse(`"${refusal}"`) : message}`;
}

interface Props {
  notices: readonly string[];
  onDismiss: () => void;
}

export function Notices({ notices, onDismiss }: Props) {
  if (notices.length === 0) return null;
  return (
    <div className="notices" role="alert">
      <ul>
        {notices.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <button onClick={onDismiss} aria-label="Dismiss">
        ×
      </button>
    </div>
  );
}
