"use client";

import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from "react";

/** Takes an answer to where it is waited for. */
export type Send = (answer: unknown) => unknown;

/** An answer is sent once; if it does not arrive it can be given again. */
export function useAnswer(send: Send | undefined) {
  const [isSent, setIsSent] = useState(false);
  const answer = async (given: unknown) => {
    setIsSent(true);
    try {
      await send?.(given);
    } catch {
      setIsSent(false);
    }
  };
  return { answer, canAnswer: send !== undefined && !isSent };
}

interface Props {
  className: string;
  title: string;
  onSubmit?: (values: FormData) => void;
  children: ReactNode;
}

/** Something that waits for the person: it comes into view, and is told to those who do not see it. */
export function Card({ className, title, onSubmit, children }: Props) {
  const card = useRef<HTMLFormElement>(null);
  const titleId = useId();
  useEffect(() => {
    card.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit?.(new FormData(event.currentTarget));
  };
  return (
    <form ref={card} className={`card ${className}`} aria-labelledby={titleId} aria-live="polite" onSubmit={submit}>
      <h3 id={titleId}>{title}</h3>
      {children}
    </form>
  );
}
