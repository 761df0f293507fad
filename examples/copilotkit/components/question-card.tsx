"use client";

import { useState, type FormEvent } from "react";

export interface Question {
  id?: string;
  question: string;
  header?: string;
  multiSelect?: boolean;
  options?: { label: string; description?: string }[];
}

interface Props {
  questions: readonly Question[];
  onAnswer?: (answer: unknown) => void;
  answered?: string;
}

/** Some questions with a choice of answers each, to which the person can always say something else. */
export function QuestionCard({ questions, onAnswer, answered }: Props) {
  const [isSent, setIsSent] = useState(false);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setIsSent(true);
    onAnswer?.({
      answers: questions.map((question, at) => ({
        questionId: idOf(question, at),
        selected: form.getAll(idOf(question, at)),
        otherText: form.get(`${idOf(question, at)}-other`) || undefined,
      })),
    });
  };
  const skip = () => {
    setIsSent(true);
    onAnswer?.({ cancelled: true });
  };
  return (
    <form className="card question" aria-label="Questions" onSubmit={submit}>
      {questions.map((question, at) => (
        <fieldset key={idOf(question, at)} disabled={isSent || !onAnswer}>
          <legend>{question.question}</legend>
          {question.options?.map(({ label, description }) => (
            <label key={label}>
              <input type={question.multiSelect ? "checkbox" : "radio"} name={idOf(question, at)} value={label} />
              <span>
                {label}
                {description && <small>{description}</small>}
              </span>
            </label>
          ))}
          <input name={`${idOf(question, at)}-other`} placeholder="Something else" aria-label="Something else" />
        </fieldset>
      ))}
      {answered === undefined ? (
        <div className="actions">
          <button className="allow_once" disabled={isSent || !onAnswer}>
            Answer
          </button>
          <button type="button" disabled={isSent || !onAnswer} onClick={skip}>
            Skip
          </button>
        </div>
      ) : (
        <p className="answer">Answered</p>
      )}
    </form>
  );
}

/** What an answer names the question by: its id, or else q1, q2 and so on. */
function idOf({ id }: Question, at: number): string {
  return id ?? `q${at + 1}`;
}
