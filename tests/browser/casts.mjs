// Who can stand behind the page, and what to type so that each of them does the same: the demo, and a real agent whose
// model plays what it is asked to. A call is named by its tool where the agent tells the tool's name.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { startModelServer } from "../agents/model-server.mjs";
import { marked } from "../agents/processes.mjs";

const MARK = "AGUI_TEST_MARK";
/** Longer than anything between the page and the agent waits without a sign of life. */
const SILENCE = 35;

/** The agent that is built in. */
export async function demo() {
  const words = {
    text: { say: "say hello", answer: "Hello" },
    reasoning: { say: "think first", thought: "The person wants to see me think.", answer: "I have thought about it." },
    tool: { say: "use a tool", name: "get_weather", result: "celsius.*18", answer: "It is 18 degrees in Paris." },
    pageTool: { say: "open record 42", before: "I open it.", answer: "Tuva Lind" },
    permission: () => ({
      say: "ask permission", name: "write_file", shown: "Hello.",
      allowed: { result: "written", answer: "write_file: allowed (once)" },
      denied: { result: "permission denied", answer: "write_file: denied (reject" },
    }),
    question: { say: "ask me", choices: ["Blue", "Plums"], other: "but not navy", answer: /Blue[\s\S]*but not navy[\s\S]*Plums/ },
    slowText: { say: "count slowly for 60 seconds", begins: "3" },
    slowTool: { say: "use a slow tool", name: "get_weather" },
    error: { say: "fail half-way", answer: "The run failed" },
    silence: { say: `be silent for ${SILENCE} seconds`, answer: "Here I am again." },
  };
  return { agent: { name: "demo", core: "demo" }, words, async tearDown() {} };
}

/** A real agent, by the name of its recipe. */
export function real(name) {
  return async (dir, workdir, program) => {
    const recipe = await import(`../agents/${name}/recipe.mjs`);
    const model = await startModelServer();
    const { command, args, env } = recipe.prepare(join(dir, "home"), model.port, { mayEdit: false });
    const secret = randomUUID();
    const agent = { name, preset: name, command, args, workdir, env: { ...env, [MARK]: secret } };
    const call = (tool, given) => `[[call:${tool} ${JSON.stringify(given)}]]`;
    const own = (tool, ...given) => call(...recipe.tools[tool](...given));
    // Without the daemon's own, which keep it.
    const processes = () => marked(`${MARK}=${secret}`).filter((one) => one.program !== program);
    const ask = { questions: [
      { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] },
      { question: "Which fruits?", header: "Fruits", multiSelect: true, options: [{ label: "Pears" }, { label: "Plums" }] },
    ] };
    const words = {
      text: { say: "[[say:Hello from a real agent.]]", answer: "Hello from a real agent." },
      reasoning: { say: "[[think:I weigh it.]][[say:It is weighed.]]", thought: "I weigh it.", answer: "It is weighed." },
      tool: {
        say: `${own("read", join(workdir, "note.txt"))}[[say:It is read.]]`, result: "the note says hello", answer: "It is read.",
      },
      pageTool: {
        say: `[[say:I open it.]]${call("*openRecord", { id: 42 })}[[say:It is open.]]`, before: "I open it.", answer: "It is open.",
        check: () => assertSeen(model, "Tuva Lind"),
      },
      permission: () => {
        const path = join(workdir, `${randomUUID()}.txt`);
        return {
          say: `${own("create", path, "first line\nsecond line\n")}[[say:After that.]]`, shown: "second line",
          allowed: { answer: "After that.", check: () => assertFile(path, true) },
          // Some agents end their turn once they are told no.
          denied: { check: () => assertFile(path, false) },
        };
      },
      question: {
        say: `${call("*AskUserQuestion", ask)}[[say:So be it.]]`, choices: ["Blue", "Plums"], other: "but not navy", answer: "So be it.",
        check: () => assertSeen(model, "but not navy"),
      },
      slowText: { say: `[[slow:200]][[say:${"word ".repeat(300).trim()}]]`, begins: "word word" },
      slowTool: { say: `${own("shell", "tail -f note.txt")}[[say:Awake.]]` },
      error: {
        say: `[[slow:200]][[say:${"dying ".repeat(300).trim()}]]`, begins: "dying", answer: "The run failed",
        provoke: () => processes().forEach(({ pid }) => process.kill(pid, "SIGKILL")),
      },
      silence: { say: `[[slow:${SILENCE * 1_000}]][[say:Awake.]]`, answer: "Awake." },
    };
    return {
      agent, words,
      async tearDown() {
        processes().forEach(({ pid }) => process.kill(pid, "SIGKILL"));
        await model.close();
      },
    };
  };
}

/** Whether the model has read this as the result of a call. */
function assertSeen(model, text) {
  const results = model.requests.flatMap((request) => request.results.map(String));
  if (!results.some((result) => result.includes(text))) throw new Error(`the model was not told "${text}"`);
}

function assertFile(path, isThere) {
  if (existsSync(path) !== isThere) throw new Error(`${path} is ${isThere ? "not there" : "there"}`);
}
