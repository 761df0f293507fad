"use client";

import { useHumanInTheLoop, useInterrupt } from "@copilotkit/react-core/v2";

import { FORM, PERMISSION, QUESTIONS } from "./asked";
import { FormCard } from "./form-card";
import { PermissionCard } from "./permission-card";
import { QuestionCard } from "./question-card";

/** The agent's run ends with what it wants to know, and goes on in the run that brings the answer. */
export function PromptsAsInterrupts() {
  useInterrupt({
    render: ({ interrupts, resolve, cancel }) => (
      <div>
        {interrupts.map(({ id, message = "The agent asks", metadata, responseSchema }) => {
          const answer = (payload: unknown) => resolve(payload, id);
          // It stands under the daemon's namespace.
          const [about] = Object.values(metadata ?? {});
          const { data: asked } = QUESTIONS.safeParse(about);
          if (asked) return <QuestionCard key={id} {...asked} onAnswer={answer} />;
          const { data: permission } = PERMISSION.safeParse(about);
          if (permission) return <PermissionCard key={id} title={message} {...permission} onAnswer={answer} />;
          const { data: form } = FORM.safeParse(responseSchema);
          const { properties = {}, required } = form ?? {};
          return (
            <FormCard key={id} title={message} {...{ properties, required }} onAnswer={answer} onCancel={() => cancel(id)} />
          );
        })}
      </div>
    ),
  });
  return null;
}

/**
 * The same, as calls of tools that the page has for it: a page that declares them is sent no interrupts for them. Forms
 * have no such tool.
 */
export function PromptsAsTools() {
  useHumanInTheLoop({
    name: "pando_permission_request",
    description: "Asks the person for permission",
    parameters: PERMISSION,
    render: ({ args, respond, result }) => (
      <PermissionCard {...args} title={args.description ?? "Permission"} onAnswer={respond} answered={result} />
    ),
  });
  useHumanInTheLoop({
    name: "AskUserQuestion",
    description: "Asks the person",
    parameters: QUESTIONS,
    render: ({ args, respond, result }) => (
      <QuestionCard questions={args.questions ?? []} onAnswer={respond} answered={result} />
    ),
  });
  return null;
}
