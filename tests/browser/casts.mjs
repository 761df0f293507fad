// Who can stand behind the page, and what to type so that each of them does the same: the demo, and a real agent whose
// model plays what it is asked to. A call is named by its tool where the agent tells the tool's name.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { marked, untilMarked } from "../agents/processes.mjs";
import { WAITING, callOf, dismiss, engage, ownCall } from "../agents/scripted.mjs";

/** In seconds: longer than CopilotKit waits for a response's head, and than two of the daemon's signs of life are apart. */
export const SILENCE = 35;
const BEGINS_WITHIN = 30_000;
const ENDS_WITHIN = 10_000;

/** The agent that is built in. */
export async function demo() {
  const words = {
    text: { say: "say hello", answer: "I am the demo agent." },
    reasoning: { say: "think first", thought: "The person wants to see me think.", answer: "I have thought about it." },
    tool: { say: "use a tool", name: "get_weather", result: /"celsius":18/, answer: "It is 18 degrees in Paris." },
    pageTool: { say: "open record 42", before: "I open it.", answer: "Tuva Lind" },
    permission: () => ({
      say: "ask permission", name: "write_file", shown: "Hello.",
      allowed: { result: /^written$/, answer: "write_file: allowed (once)" },
      denied: { result: /^permission denied$/, answer: "write_file: denied (reject" },
    }),
    question: { say: "ask me", answer: /Blue[\s\S]*but not navy[\s\S]*Plums/, choices: ["Blue", "Plums"], other: "but not navy" },
    form: { say: "ask for an age", label: "Age", value: "41", answer: '{"age":41}' },
    slowText: { say: "count slowly for 60 seconds", begins: "1 2 3", isWhole: (text) => isCounted(text) },
    slowTool: { say: "use a slow tool", name: "get_weather" },
    errors: [
      { say: "fail half-way", begins: "This will not end well", answer: "The run failed: the demo failed half-way" },
      { say: "fail at once", answer: "The run failed: the demo failed at once" },
    ],
    silence: { say: `be silent for ${SILENCE} seconds`, answer: "Here I am again." },
  };
  return { agent: { name: "demo", core: "demo" }, words, async tearDown() {} };
}

/** A real agent, by the name of its recipe. */
export function real(name) {
  return async (dir, workdir, program) => {
    const engaged = await engage(name, dir, workdir, { mayEdit: false });
    const { recipe, model, agent, mark } = engaged;
    // Without the daemon's own, which keep the mark.
    const processes = () => marked(mark).filter((one) => one.program !== program);
    const commands = (is) => (found) => found.some(({ command }) => command === WAITING) === is;
    const kill = () => processes().forEach(({ pid }) => process.kill(pid, "SIGKILL"));
    const slow = (word) => `[[slow:200]][[say:${`${word} `.repeat(150).trim()}]]`;
    const slowTool = {
      say: `${ownCall(recipe, "shell", WAITING)}[[say:Awake.]]`,
      begun: () => untilMarked(mark, BEGINS_WITHIN, "the command was not started", commands(true)),
      stopped: () => untilMarked(mark, ENDS_WITHIN, "the command runs on", commands(false)),
    };
    const words = {
      text: { say: "[[say:Hello from a real agent.]]", answer: "Hello from a real agent." },
      reasoning: { say: "[[think:I weigh it.]][[say:It is weighed.]]", thought: "I weigh it.", answer: "It is weighed." },
      tool: {
        say: `${ownCall(recipe, "read", join(workdir, "note.txt"))}[[say:It is read.]]`,
        result: /the note says hello/, answer: "It is read.",
      },
      pageTool: {
        say: `[[say:I open it.]]${callOf("*openRecord", { id: 42 })}[[say:It is open.]]`,
        before: "I open it.", answer: "It is open.", check: () => assertTold(model, "Tuva Lind"),
      },
      permission: () => {
        const path = join(workdir, `${randomUUID()}.txt`);
        const check = (isThere) => () => assert.equal(existsSync(path), isThere, `${path} is there`);
        return {
          say: `${ownCall(recipe, "create", path, "first line\nsecond line\n")}[[say:After that.]]`, shown: "second line",
          allowed: { answer: "After that.", check: check(true) },
          // Some agents end their turn once they are told no.
          denied: { result: /denied|rejected|refused/i, check: check(false) },
        };
      },
      question: {
        say: `${callOf("*AskUserQuestion", QUESTIONS)}[[say:So be it.]]`, answer: "So be it.",
        choices: ["Blue", "Plums"], other: "but not navy",
        check: () => assertTold(model, "Blue", "but not navy", "Plums"),
      },
      slowText: { say: slow("word"), begins: "word word", isWhole: (text) => /^(word )*word$/.test(text) },
      slowTool,
      errors: [
        { say: slow("dying"), begins: "dying", answer: "The run failed", provoke: kill },
        { say: slowTool.say, answer: "The run failed", provoke: async () => (await slowTool.begun(), kill()) },
      ],
      silence: { say: `[[slow:${SILENCE * 1_000}]][[say:Awake.]]`, answer: "Awake." },
    };
    return { agent, words, tearDown: () => dismiss(engaged) };
  };
}

const QUESTIONS = {
  questions: [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] },
    { question: "Which fruits?", header: "Fruits", multiSelect: true, options: [{ label: "Pears" }, { label: "Plums" }] },
  ],
};

/** Checks that the model has read all of this in the result of one call. */
function assertTold(model, ...texts) {
  const results = model.requests.flatMap((request) => request.results.map(String));
  assert.ok(results.some((result) => texts.every((text) => result.includes(text))), `the model was told ${texts}`);
}

/** Whether a text is the numbers from 1 on, each once. */
function isCounted(text) {
  const numbers = text.trim().split(/\s+/).map(Number);
  return numbers.every((number, at) => number === at + 1);
}
