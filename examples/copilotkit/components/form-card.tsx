"use client";

import type { Field, Form } from "./asked";
import { Card, useAnswer, type Send } from "./card";

interface Props extends Form {
  title: string;
  onAnswer: Send;
  onCancel: Send;
}

/** A form that the agent has made. */
export function FormCard({ title, properties, required = [], onAnswer, onCancel }: Props) {
  const { answer, canAnswer } = useAnswer((values) => (values === undefined ? onCancel(values) : onAnswer(values)));
  const fields = Object.entries(properties);
  const submit = (form: FormData) => {
    const values = fields.map(([name, { type }]) => [name, valueOf(form.get(name), type)]);
    return answer(Object.fromEntries(values.filter(([, value]) => value !== undefined)));
  };
  return (
    <Card className="question" title={title} onSubmit={submit}>
      <fieldset disabled={!canAnswer}>
        {fields.map(([name, field]) => (
          <label key={name}>
            <span>
              {field.title ?? name}
              {field.description && <small>{field.description}</small>}
            </span>
            <Input name={name} field={field} isRequired={required.includes(name)} />
          </label>
        ))}
      </fieldset>
      <div className="actions">
        <button className="primary" disabled={!canAnswer}>
          Answer
        </button>
        <button type="button" disabled={!canAnswer} onClick={() => answer(undefined)}>
          Skip
        </button>
      </div>
    </Card>
  );
}

function Input({ name, field, isRequired }: { name: string; field: Field; isRequired: boolean }) {
  if (field.enum) {
    return (
      <select name={name} required={isRequired} defaultValue="">
        <option value="" />
        {field.enum.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    );
  }
  if (field.type === "boolean") return <input type="checkbox" name={name} />;
  if (!isNumber(field.type)) return <input name={name} required={isRequired} />;
  const step = field.type === "number" ? "any" : 1;
  return <input name={name} type="number" step={step} min={field.minimum} max={field.maximum} required={isRequired} />;
}

function valueOf(text: FormDataEntryValue | null, type?: string): unknown {
  if (type === "boolean") return text !== null;
  if (text === null || text === "") return undefined;
  return isNumber(type) ? Number(text) : text;
}

function isNumber(type?: string): boolean {
  return type === "number" || type === "integer";
}
