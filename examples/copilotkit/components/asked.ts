import { z } from "zod";

/** What the agent is about to do. An option is an answer that the agent offers, in its own words. */
export const PERMISSION = z.object({
  description: z.string().optional(),
  path: z.string().optional(),
  params: z.unknown().optional(),
  diffs: z.array(z.object({ path: z.string(), oldText: z.string().nullish(), newText: z.string() })).optional(),
  options: z.array(z.object({ optionId: z.string(), name: z.string(), kind: z.string() })),
});
export type Permission = z.infer<typeof PERMISSION>;

/** Some questions with a choice of answers each. */
export const QUESTIONS = z.object({
  questions: z.array(
    z.object({
      id: z.string().optional(),
      question: z.string(),
      multiSelect: z.boolean().optional(),
      options: z.array(z.object({ label: z.string(), description: z.string().optional() })).optional(),
    }),
  ),
});
export type Question = z.infer<typeof QUESTIONS>["questions"][number];

/** A form with plain fields, as a JSON schema. What is something else is asked for as text. */
export const FORM = z.object({
  properties: z.record(
    z.string(),
    z.object({
      type: z.string().optional(),
      title: z.string().optional(),
      description: z.string().optional(),
      enum: z.array(z.string()).optional(),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
    }),
  ),
  required: z.array(z.string()).optional(),
});
export type Form = z.infer<typeof FORM>;
export type Field = Form["properties"][string];
