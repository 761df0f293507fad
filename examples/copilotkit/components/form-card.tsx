"use client";

import { useState, type FormEvent } from "react";

interface Field {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
}

interface Props {
  title: string;
  /** A JSON schema of an object with plain fields. */
  schema?: { properties?: Record<string, Field>; required?: string[] };
  onAnswer: (answer: unknown) => void;
  onCancel: () => void;
}

/** A form that the agent has made. */
export function FormCard({ title, schema, onAnswer, onCancel }: Props) {
  const [isSent, setIsSent] = useState(false);
  const fields = Object.entries(schema?.properties ?? {});
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const values = fields.map(([name, { type }]) => [name, valueOf(form.get(name), type)]);
    setIsSent(true);
    onAnswer(Object.fromEntries(values.filter(([, value]) => value !== undefined)));
  };
  return (
    <form className="card question" aria-label="Form" onSubmit={submit}>
      <h3>{title}</h3>
      <fieldset disabled={isSent}>
        {fields.map(([name, field]) => (
          <label key={name}>
            <span>
              {field.title ?? name}
              {field.description && <small>{field.description}</small>}
            </span>
            <Input name={name} field={field} isRequired={schema?.required?.includes(name) ?? false} />
          </label>
        ))}
        <div className="actions">
          <button className="allow_once">Answer</button>
          <button type="button" onClick={onCancel}>
            Skip
          </button>
        </div>
      </fieldset>
    </form>
  );
}

function Input({ name, field, isRequired }: { name: string; field: Field; isRequired: boolean }) {
  if (field.enum) {
    return (
      <select name={name} required={isRequired}>
        {field.enum.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    );
  }
  if (field.type === "boolean") return <input type="checkbox" name={name} />;
  const isNumber = field.type === "number" || field.type === "integer";
  const step = field.type === "number" ? "any" : undefined;
  return (
    <input
      name={name}
      type={isNumber ? "number" : "text"}
      step={step}
      min={field.minimum}
      max={field.maximum}
      required={isRequired}
    />
  );
}

function valueOf(text: FormDataEntryValue | null, type?: string): unknown {
  if (type === "boolean") return text !== null;
  if (text === null || text === "") return undefined;
  return type === "number" || type === "integer" ? Number(text) : text;
}
