// Where a request stands in the script that one of its prompts carries.

import { hasScript } from "../model-script.mjs";

/**
 * The newest prompt with a script, and the tool results that came after it. `turns` are the messages of a request in
 * order, as `{user, text, results}`, where results are texts.
 */
export function position(turns) {
  const at = turns.findLastIndex((turn) => turn.user && hasScript(turn.text));
  const results = turns.slice(at + 1).flatMap((turn) => turn.results);
  return { script: at < 0 ? "" : turns[at].text, results };
}

/** The text of a message's content, which is a string or a list of parts. */
export function plainText(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}
