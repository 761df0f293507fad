"use client";

import { CopilotChat, CopilotKitProvider, useConfigureSuggestions } from "@copilotkit/react-core/v2";
import { useState } from "react";

import { useKept } from "./kept";
import { Notices, useNotices } from "./notices";
import { PromptsAsInterrupts, PromptsAsTools } from "./prompts";
import { Records } from "./records";
import { Tools } from "./tools";

const newThread = () => crypto.randomUUID();
/** How the agent asks the person: by ending its run (`interrupt`), or by calling a tool that the page declares (`tool`). */
const usualWay = () => "interrupt";

/** The page: the orders on one side, the conversation on the other. */
export function Desk() {
  // The conversation of this browser: the same one after a reload, until a new one is begun.
  const [thread, setThread] = useKept("order-desk.thread", newThread);
  const [askedBy, setAskedBy] = useKept("order-desk.asked-by", usualWay);
  const { notices, notice, dismiss } = useNotices();
  const [open, setOpen] = useState<number>();
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit" onError={notice} enableInspector={false}>
      <Tools onOpen={setOpen} />
      {askedBy === "tool" && <PromptsAsTools />}
      {askedBy === "interrupt" && <PromptsAsInterrupts />}
      <Suggestions />
      <div className="desk">
        <header>
          <h1>Order desk</h1>
          <label>
            Asks by
            <select value={askedBy} onChange={({ target }) => setAskedBy(target.value)}>
              <option value="interrupt">interrupt</option>
              <option value="tool">tool call</option>
            </select>
          </label>
          <button onClick={() => setThread(newThread())}>New chat</button>
        </header>
        <Records open={open} onOpen={setOpen} />
        <main>
          <Notices notices={notices} onDismiss={dismiss} />
          {thread && (
            <CopilotChat
              key={thread}
              threadId={thread}
              labels={{ chatInputPlaceholder: "Ask the agent…" }}
            />
          )}
        </main>
      </div>
    </CopilotKitProvider>
  );
}

/** What a newcomer can try. The demo agent knows these words, any other one makes of them what it can. */
function Suggestions() {
  useConfigureSuggestions({
    available: "before-first-message",
    suggestions: [
      { title: "Open order 42", message: "open record 42" },
      { title: "Use a tool", message: "think first, then use a tool" },
      { title: "Ask for permission", message: "ask permission to write a file" },
      { title: "Ask me something", message: "ask me" },
    ],
  });
  return null;
}
