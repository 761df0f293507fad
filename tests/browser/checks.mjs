// What a person does with the page, whatever agent is behind it. Each check gets the page and the stage, begins a
// conversation of its own and leaves nothing open.

import assert from "node:assert/strict";

import { SILENCE } from "./casts.mjs";

export const checks = {
  async "text"({ page, words: { text } }) {
    await page.beginAnew();
    await page.say(text.say);
    await page.heard(text.answer);
    assert.equal(await page.suggestions.count(), 0, "suggestions are for the beginning");
    await page.shoot("text");
  },

  async "reasoning"({ page, words: { reasoning } }) {
    await page.beginAnew();
    await page.say(reasoning.say);
    await page.heard(reasoning.answer);
    await page.tab.getByRole("button", { name: /^Thought for/ }).click();
    await page.tab.getByText(reasoning.thought).last().waitFor();
    await page.shoot("reasoning");
  },

  async "tool-of-the-agent"({ page, words: { tool } }) {
    await page.beginAnew();
    await page.say(tool.say);
    await page.heard(tool.answer);
    await page.tool(tool.name).locator("summary").click();
    await page.shoot("tool");
    assert.match(await page.resultOf(tool.name), tool.result);
  },

  async "tool-of-the-page"({ page, words: { pageTool } }) {
    await page.reload();
    await page.beginAnew();
    assert.equal(await page.openOrder().count(), 0);
    await page.say(pageTool.say);
    await page.heard(pageTool.answer);
    await page.heard(pageTool.before);
    assert.match(await page.resultOf("openRecord"), /Tuva Lind/);
    assert.match(await page.openOrder().innerText(), /Tuva Lind[\s\S]*oak desk/);
    pageTool.check?.();
    await page.shoot("page-tool");
  },

  "permission-given": (scene) => decide(scene, "interrupt", "allow_once"),
  "permission-denied": (scene) => decide(scene, "interrupt", "reject_once"),
  "permission-given-to-a-declared-tool": (scene) => decide(scene, "tool", "allow_once"),
  "permission-denied-to-a-declared-tool": (scene) => decide(scene, "tool", "reject_once"),

  "question": (scene) => answer(scene, "interrupt"),
  "question-by-a-declared-tool": (scene) => answer(scene, "tool"),
  "reload-with-an-open-question-by-a-declared-tool": (scene) => answer(scene, "tool", () => scene.page.reload()),
  "form": (scene) => fill(scene, "interrupt"),
  "form-where-tools-are-declared": (scene) => fill(scene, "tool"),

  async "new-chat-while-something-is-asked"({ page, words: { text, ...words } }) {
    await page.beginAnew();
    await page.say(words.permission().say);
    await page.permission.waitFor();
    await page.beginAnew();
    assert.equal(await page.permission.count(), 0, "what is asked belongs to the other conversation");
    await page.say(text.say);
    await page.heard(text.answer);
  },

  async "stop-in-mid-text"({ page, stage, words: { slowText, text } }) {
    await page.beginAnew();
    await page.say(slowText.say);
    const message = await page.heard(slowText.begins);
    await page.stop();
    await assertStopped(page, stage);
    const said = await message.innerText();
    await page.say(text.say);
    await page.heard(text.answer);
    assert.equal(await page.answers.first().innerText(), said, "nothing more was said after the stop");
    await page.shoot("stop-in-mid-text");
  },

  async "stop-in-mid-tool"({ page, stage, words: { slowTool, text } }) {
    await page.beginAnew();
    await page.say(slowTool.say);
    await page.tool(slowTool.name, true).waitFor();
    await slowTool.begun?.();
    await page.stop();
    await assertStopped(page, stage);
    await slowTool.stopped?.();
    await page.tool(slowTool.name, true).getByText("open").waitFor();
    await page.say(text.say);
    await page.heard(text.answer);
    // What came of the call is told once there is somebody to tell.
    await page.resultOf(slowTool.name);
    await page.shoot("stop-in-mid-tool");
  },

  async "reload-after-a-run"({ page, words: { tool } }) {
    await page.beginAnew();
    await page.say(tool.say);
    await page.heard(tool.answer);
    const before = await page.content();
    await page.reload();
    await page.heard(tool.answer);
    assert.match(await page.resultOf(tool.name), tool.result);
    assert.deepEqual(await page.content(), before);
    assert.equal(await page.suggestions.count(), 0, "suggestions are for the beginning");
    await page.shoot("reload-after-a-run");
  },

  async "reload-in-mid-run"({ page, stage, words: { slowText } }) {
    await page.beginAnew();
    await page.say(slowText.say);
    await page.heard(slowText.begins);
    await page.reload();
    const message = await page.heard(slowText.begins);
    const before = (await message.innerText()).length;
    await page.tab.waitForFunction(
      ([id, length]) => [...document.querySelectorAll(`[data-testid="${id}"]`)].at(-1).innerText.length > length + 10,
      ["copilot-assistant-message", before],
    );
    await page.stop();
    await assertStopped(page, stage);
    const { prompts, answers } = await page.content();
    assert.deepEqual([prompts, answers.length], [1, 1]);
    assert.ok(slowText.isWhole(answers[0].trim()), `nothing is missing or doubled in ${answers[0]}`);
    await page.shoot("reload-in-mid-run");
  },

  "reload-with-an-open-prompt": (scene) => decide(scene, "interrupt", "allow_once", () => scene.page.reload()),
  "reload-with-an-open-declared-tool": (scene) => decide(scene, "tool", "allow_once", () => scene.page.reload()),
};

/** What ends an agent's process, and so all that goes on in it. */
export const rough = {
  async "error"({ page, stage, words: { errors, text } }) {
    for (const [at, error] of errors.entries()) {
      await page.beginAnew();
      await page.say(error.say);
      if (error.begins) await page.heard(error.begins);
      await error.provoke?.();
      await page.heard(error.answer);
      assert.equal((await stage.endOf(await page.thread())).outcome, "failed");
      assert.match(await page.answers.last().innerText(), /^The run failed/, "it is the last word");
      assert.equal(await page.tool(undefined, true).count(), 0, "no call is left open");
      await page.shoot(`error-${at + 1}`);
      await page.say(text.say);
      await page.heard(text.answer);
    }
  },
};

/** Nothing is said for long, and then the answer comes. */
export async function silence({ page, words }) {
  await page.beginAnew();
  const began = Date.now();
  await page.say(words.silence.say);
  await page.heard(words.silence.answer, (SILENCE + 60) * 1_000);
  assert.ok(Date.now() - began >= SILENCE * 1_000, "it was silent for so long");
  await page.shoot("silence");
}

/** Says that the agent does not answer, in a page where it does not. */
export async function away({ page }) {
  await page.say("hello?");
  await page.notices.getByText("The agent does not answer").waitFor();
  await page.shoot("away");
  await page.takeComplaints();
}

/** Has the agent ask for permission, answers it by the button of that kind, and goes on talking. */
async function decide({ page, stage, words }, askedBy, kind, meanwhile) {
  const { say, name, shown, allowed, denied } = words.permission();
  const { result, answer, check } = kind === "allow_once" ? allowed : denied;
  await page.beginAnew(askedBy);
  await page.say(say);
  await page.permission.getByText(shown).waitFor();
  await assertAskedBy(page, stage, askedBy);
  if (meanwhile) {
    await meanwhile();
    await page.permission.getByText(shown).waitFor();
    assert.equal(await page.suggestions.count(), 0, "suggestions are for the beginning");
  }
  assert.equal(await page.permission.count(), 1);
  const button = page.permission.locator(`button[data-kind=${kind}]`);
  const chosen = await button.innerText();
  await page.shoot(`permission-by-${askedBy}${meanwhile ? "-reloaded" : ""}`);
  await button.click();
  if (answer) await page.heard(answer);
  const told = await page.resultOf(name);
  if (result) assert.match(told, result);
  await assertAnswered(page, page.permission, askedBy, chosen);
  await page.shoot(`${kind}-by-${askedBy}`);
  await page.say(words.text.say);
  await page.heard(words.text.answer);
  await assertAnswered(page, page.permission, askedBy, chosen);
  check?.();
}

/** Has the agent ask its questions, and answers the first with a choice and words, the second with a choice. */
async function answer({ page, stage, words: { question } }, askedBy, meanwhile) {
  const [one, several] = question.choices;
  await page.beginAnew(askedBy);
  await page.say(question.say);
  await page.question.waitFor();
  await meanwhile?.();
  await page.question.getByRole("radio", { name: one }).check();
  await page.question.getByRole("checkbox", { name: several }).check();
  await page.question.getByRole("textbox").first().fill(question.other);
  await assertAskedBy(page, stage, askedBy);
  await page.shoot(`question-by-${askedBy}`);
  await page.question.getByRole("button", { name: "Answer" }).click();
  await page.heard(question.answer);
  question.check?.();
  await assertAnswered(page, page.question, askedBy, "Answered");
  await page.shoot(`answered-by-${askedBy}`);
}

/** Fills in a form of the agent's, which comes as an interrupt whatever the page declares. */
async function fill({ page, stage, words: { form } }, askedBy) {
  if (!form) return "which this agent does not have";
  await page.beginAnew(askedBy);
  await page.say(form.say);
  await page.question.getByLabel(form.label).fill(form.value);
  await assertAskedBy(page, stage, "interrupt");
  await page.shoot(`form-by-${askedBy}`);
  await page.question.getByRole("button", { name: "Answer" }).click();
  await page.heard(form.answer);
  await assertAnswered(page, page.question, "interrupt");
}

/** Checks in which way the daemon has asked: a run that stops for a tool of the page has succeeded. */
async function assertAskedBy(page, stage, askedBy) {
  const { outcome } = await stage.endOf(await page.thread());
  assert.equal(outcome, askedBy === "tool" ? "success" : "interrupt");
}

/** Checks that nothing is left to be answered: an interrupt's card is gone, a tool's card tells the answer. */
async function assertAnswered(page, card, askedBy, told) {
  if (askedBy === "tool") {
    assert.equal(await card.locator(".answer").innerText(), told);
  } else {
    await card.waitFor({ state: "detached" });
  }
  assert.equal(await card.locator("button").count(), 0, "nothing is left to be answered");
}

async function assertStopped(page, stage) {
  const { outcome } = await stage.endOf(await page.thread());
  assert.equal(outcome, "cancelled");
}
