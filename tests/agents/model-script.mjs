// What a scripted model answers. The script stands in the user's own prompt, so that one server serves
// every agent and every test without a file of its own:
//
//   [[think:weigh it]] [[say:Looking.]] [[call:read_file {"path":"a.txt"}]] [[say:Done.]] [[slow:100]]
//
// Each [[call]] ends one model response. Which response is due follows from the number of tool results
// that came after the prompt, so the server keeps no memory of conversations. [[slow:MS]] sets the pause
// before every later word, thought and call. A tool may be named by its ending (`*read_file`). Arguments are an object,
// or a string for a tool that takes free text, and must not contain "]]". A request that offers no tools, such as
// the one for a conversation's title, gets no calls. What a session is told of an earlier one is no script: an agent
// that has lost its session, killed before it had written it down, would do everything again.

const DIRECTIVE = /\[\[(think|say|call|slow):([\s\S]*?)\]\]/g;
const TOLD = /<earlier_conversation>[\s\S]*?<\/earlier_conversation>/g;

/** Whether a text carries a script. */
export function hasScript(text) {
  return text.search(DIRECTIVE) >= 0;
}

/**
 * The steps of response number `due` of the script in `text`: `{index, kind: "think" | "say", text, pause}` in
 * order, and at most one `{index, kind: "call", name, args, pause}`, which is then the last. `tools` are the
 * names the agent offered.
 */
export function responseSteps(text, due, tools) {
  const responses = [[]];
  let pause = 0;
  for (const [, kind, body] of text.replace(TOLD, "").matchAll(DIRECTIVE)) {
    const steps = responses.at(-1);
    if (kind === "slow") {
      pause = Number(body);
    } else if (kind === "call") {
      steps.push({ kind, ...parseCall(body, tools), pause });
      responses.push([]);
    } else {
      steps.push({ kind, text: body, pause });
    }
  }
  return responses[Math.min(due, responses.length - 1)]
    .filter(({ kind }) => kind !== "call" || tools.length > 0)
    .map((step, index) => ({ ...step, index }));
}

/** Words with the blanks after them, so that the pieces joined are the text again. */
export function words(text) {
  return text.match(/\s*\S+\s*/g) ?? [];
}

function parseCall(body, tools) {
  const [, wanted, json] = body.trim().match(/^(\S+)\s*([\s\S]*)$/);
  const name = wanted.startsWith("*")
    ? tools.find((tool) => tool.endsWith(wanted.slice(1))) ?? wanted.slice(1)
    : wanted;
  return { name, args: json === "" ? {} : JSON.parse(json) };
}
