"use client";

import type { Question } from "./asked";
import { Card, useAnswer, type Send } from "./card";

interface Props {
  questions: readonly Question[];
  onAnswer?: Send;
  answered?: string;
}

/** Some questions with a choice of answers each, to which the person can always say something else. */
export function QuestionCard({ questions, onAnswer, answered }: Props) {
  const { answer, canAnswer } = useAnswer(onAnswer);
  const submit = (values: FormData) =>
    answer({
      answers: questions.map(({ id }, at) => ({
        // A question without an id is called by its place.
        questionId: id ?? `q${at + 1}`,
        selected: values.getAll(`choice-${at}`),
        otherText: values.get(`other-${at}`) || undefined,
      })),
    });
  return (
    <Card className="question" title="The agent asks" onSubmit={submit}>
      {questions.map(({ question, multiSelect, options }, at) => (
        <fieldset key={at} disabled={!canAnswer}>
          <legend>{question}</legend>
          {options?.map(({ label, description }) => (
            <label key={label}>
              <input type={multiSelect ? "checkbox" : "radio"} name={`choice-${at}`} value={label} />
              <span>
                {label}
                {description && <small>{description}</small>}
              </span>
            </label>
          ))}
          <input name={`other-${at}`} placeholder="Something else" aria-label={`Something else: ${question}`} />
        </fieldset>
      ))}
      {answered === undefined ? (
        <div className="actions">
          <button className="primary" disabled={!canAnswer}>
            Answer
          </button>
          <button type="button" disabled={!canAnswer} onClick={() => answer({ cancelled: true })}>
            Skip
          </button>
        </div>
      ) : (
        <p className="answer">Answered</p>
      )}
    </Card>
  );
}
