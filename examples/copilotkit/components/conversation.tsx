"use client";

import { CopilotChat, CopilotKitProvider, useAgent, useConfigureSuggestions, useCopilotKit } from "@copilotkit/react-core/v2";
import { useEffect } from "react";

import { Notices, useNotices } from "./notices";
import { PromptsAsInterrupts, PromptsAsTools } from "./prompts";
import { Tools } from "./tools";

/** How the agent asks the person: by ending its run (`interrupt`), or by calling a tool that the page declares (`tool`). */
export type Way = "interrupt" | "tool";

/** What a newcomer can try. The demo agent knows these words, any other one makes of them what it can. */
const SUGGESTIONS = [
  { title: "Open order 42", message: "open record 42" },
  { title: "Think first", message: "think first" },
  { title: "Use a tool", message: "use a tool" },
  { title: "Ask for permission", message: "ask permission" },
  { title: "Ask me something", message: "ask me" },
];

interface Props {
  thread: string;
  askedBy: Way;
  onOpen: (order: number) => void;
}

/** One conversation with the agent. Each has a provider of its own, so that nothing that is open in one shows up in another. */
export function Conversation({ thread, askedBy, onOpen }: Props) {
  const { notices, notice, dismiss } = useNotices();
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit" onError={notice} enableInspector={false}>
      <Tools onOpen={onOpen} />
      <PromptsAsInterrupts />
      {askedBy === "tool" && <PromptsAsTools />}
      <main>
        <Notices notices={notices} onDismiss={dismiss} />
        <Beginning onRun={dismiss} />
        <CopilotChat threadId={thread} labels={{ chatInputPlaceholder: "Ask the agent…" }} />
      </main>
    </CopilotKitProvider>
  );
}

/** What stands in an empty conversation; what went wrong in the run before is gone once the next one begins. */
function Beginning({ onRun }: { onRun: () => void }) {
  const { agent } = useAgent();
  const isNew = agent.messages.length === 0;
  const { copilotkit } = useCopilotKit();
  // After a reload the conversation comes later than the suggestions.
  useEffect(() => {
    if (!isNew) copilotkit.clearSuggestions(agent.agentId ?? "default");
  }, [isNew, copilotkit, agent.agentId]);
  useConfigureSuggestions(isNew ? { available: "before-first-message", suggestions: SUGGESTIONS } : null, [isNew]);
  useEffect(() => {
    if (agent.isRunning) onRun();
  }, [agent.isRunning, onRun]);
  return isNew ? <p className="beginning">What shall the agent do?</p> : null;
}
