"use client";

import { useHumanInTheLoop, useInterrupt } from "@copilotkit/react-core/v2";
import { z } from "zod";

import { FormCard } from "./form-card";
import { PermissionCard, type Permission } from "./permission-card";
import { QuestionCard, type Question } from "./question-card";

/** The agent's run ends with what it wants to know, and goes on in the run that brings the answer. */
export function PromptsAsInterrupts() {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => (
      <div className="prompts">
        {interrupts.map(({ id, message = "", metadata = {}, responseSchema }) => {
          const details = metadata.pando as Partial<Permission> & { questions?: Question[] };
          const answer = (payload: unknown) => void resolve(payload, id);
          if (details.questions) return <QuestionCard key={id} questions={details.questions} onAnswer={answer} />;
          if (details.options) return <PermissionCard key={id} {...details} title={message} onAnswer={answer} />;
          return (
            <FormCard key={id} title={message} schema={responseSchema} onAnswer={answer} onCancel={() => void cancel(id)} />
          );
        })}
      </div>
    ),
  });
  return null;
}

const OPTION = z.object({ optionId: z.string(), name: z.string(), kind: z.string() });
const QUESTION = z.object({
  id: z.string().optional(),
  question: z.string(),
  header: z.string().optional(),
  multiSelect: z.boolean().optional(),
  options: z.array(z.object({ label: z.string(), description: z.string().optional() })).optional(),
});

/** The same, as calls of tools that the page has for it: a page that declares them is never sent an interrupt for them. */
export function PromptsAsTools() {
  useHumanInTheLoop({
    name: "pando_permission_request",
    description: "Asks the person for permission",
    parameters: z.object({
      toolName: z.string(),
      action: z.string(),
      description: z.string().optional(),
      path: z.string().optional(),
      params: z.any(),
      options: z.array(OPTION),
    }),
    render: ({ args, respond, result }) => (
      <PermissionCard
        {...args}
        title={args.description ?? `Allow ${args.toolName ?? "it"}?`}
        onAnswer={respond}
        answered={result}
      />
    ),
  });
  useHumanInTheLoop({
    name: "AskUserQuestion",
    description: "Asks the person",
    parameters: z.object({ questions: z.array(QUESTION) }),
    render: ({ args, respond, result }) => (
      <QuestionCard questions={args.questions ?? []} onAnswer={respond} answered={result} />
    ),
  });
  return null;
}
