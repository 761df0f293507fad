"use client";

import { useCallback, useState } from "react";

interface Failure {
  error: Error;
  code: string;
}

/** What went wrong outside of the conversation: the agent cannot be reached, a request was refused. */
export function useNotices() {
  const [notices, setNotices] = useState<string[]>([]);
  const notice = useCallback(({ error, code }: Failure) => {
    // The agent has said in the chat why its run failed.
    if (code === "agent_run_error_event") return;
    setNotices((known) => (known.includes(error.message) ? known : [...known, error.message].slice(-3)));
  }, []);
  const dismiss = useCallback(() => setNotices([]), []);
  return { notices, notice, dismiss };
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
