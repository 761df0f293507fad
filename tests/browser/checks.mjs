// What a person does with the page, whatever agent is behind it. Each check gets the page and the stage, begins a
// conversation of its own and leaves nothing open.

import assert from "node:assert/strict";

const SILENCE_ENDS_WITHIN = 90_000;

export const checks = {
  async "text"({ page, words: { text } }) {
    await page.beginAnew();
    await page.say(text.say);
    await page.heard(text.answer);
    await page.shoot("text");
  },

  async "reasoning"({ page, words: { reasoning } }) {
    await page.beginAnew();
    await page.say(reasoning.say);
    await page.heard(reasoning.answer);
    const header = page.tab.getByRole("button", { name: /^Thought for/ });
    await header.click();
    await page.tab.getByText(reasoning.thought).last().waitFor();
    await page.shoot("reasoning");
  },

  async "tool-of-the-agent"({ page, words: { tool } }) {
    await page.beginAnew();
    await page.say(tool.say);
    await page.heard(tool.answer);
    await page.tool(tool.name).locator("summary").click();
    await page.shoot("tool");
    assert.match(await page.resultOf(tool.name), new RegExp(tool.result));
  },

  async "tool-of-the-page"({ page, words: { pageTool } }) {
    await page.beginAnew();
    await page.say(pageTool.say);
    await page.heard(pageTool.answer);
    await page.heard(pageTool.before);
    assert.match(await page.resultOf("openRecord"), /Tuva Lind/);
    assert.match(await page.openRecord().innerText(), /Tuva Lind[\s\S]*oak desk/);
    pageTool.check?.();
    await page.shoot("page-tool");
  },

  "permission-given": (scene) => decide(scene, "interrupt", "allow_once"),
  "permission-denied": (scene) => decide(scene, "interrupt", "reject_once"),
  "permission-given-to-a-declared-tool": (scene) => decide(scene, "tool", "allow_once"),
  "permission-denied-to-a-declared-tool": (scene) => decide(scene, "tool", "reject_once"),

  "question": (scene) => answer(scene, "interrupt"),
  "question-by-a-declared-tool": (scene) => answer(scene, "tool"),

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
    await page.stop();
    await assertStopped(page, stage);
    await page.say(text.say);
    await page.heard(text.answer);
    await page.shoot("stop-in-mid-tool");
  },

  async "error"({ page, stage, words: { error, text } }) {
    await page.beginAnew();
    await page.say(error.say);
    if (error.begins) await page.heard(error.begins);
    error.provoke?.();
    await page.heard(error.answer);
    assert.equal((await stage.endOf(await page.thread())).outcome, "failed");
    await page.shoot("error");
    await page.say(text.say);
    await page.heard(text.answer);
  },

  async "reload-after-a-run"({ page, words: { tool } }) {
    await page.beginAnew();
    await page.say(tool.say);
    await page.heard(tool.answer);
    await page.reload();
    await page.heard(tool.answer);
    assert.match(await page.resultOf(tool.name), new RegExp(tool.result));
    await page.shoot("reload-after-a-run");
  },

  async "reload-in-mid-run"({ page, stage, words: { slowText } }) {
    await page.beginAnew();
    await page.say(slowText.say);
    await page.heard(slowText.begins);
    await page.reload();
    const before = (await (await page.heard(slowText.begins)).innerText()).length;
    await page.tab.waitForFunction(
      ([id, length]) => [...document.querySelectorAll(`[data-testid="${id}"]`)].at(-1).innerText.length > length + 10,
      ["copilot-assistant-message", before],
    );
    await page.stop();
    await assertStopped(page, stage);
    await page.shoot("reload-in-mid-run");
  },

  async "reload-with-an-open-prompt"(scene) {
    await decide(scene, "interrupt", "allow_once", () => scene.page.reload());
  },

  async "reload-with-an-open-declared-tool"(scene) {
    await decide(scene, "tool", "allow_once", () => scene.page.reload());
  },
};

/** Nothing is said for longer than anything between the page and the agent waits, and then the answer comes. */
export async function silence({ page, words }) {
  await page.beginAnew();
  await page.say(words.silence.say);
  await page.heard(words.silence.answer, SILENCE_ENDS_WITHIN);
  await page.shoot("silence");
}

/** Has the agent ask for permission, answers it by the button of that kind, and goes on talking. */
async function decide({ page, words }, askedBy, kind, meanwhile) {
  const { say, name, shown, allowed, denied } = words.permission();
  const { result, answer, check } = kind === "allow_once" ? allowed : denied;
  await page.beginAnew(askedBy);
  await page.say(say);
  await page.permission.getByText(shown).waitFor();
  if (meanwhile) {
    await meanwhile();
    await page.permission.getByText(shown).waitFor();
  }
  assert.equal(await page.permission.count(), 1);
  await page.shoot(`permission-by-${askedBy}`);
  await page.permission.locator(`button.${kind}`).click();
  if (answer) await page.heard(answer);
  const told = await page.resultOf(name);
  if (result) assert.match(told, new RegExp(result));
  assert.equal(await page.permission.locator("button").count(), 0, "nothing is left to be answered");
  check?.();
  await page.shoot(`${kind}-by-${askedBy}`);
  await page.say(words.text.say);
  await page.heard(words.text.answer);
}

/** Has the agent ask its questions, and answers the first with a choice and words, the second with a choice. */
async function answer({ page, words: { question } }, askedBy) {
  await page.beginAnew(askedBy);
  await page.say(question.say);
  for (const label of question.choices) await page.question.getByLabel(label).check();
  await page.question.getByLabel("Something else").first().fill(question.other);
  await page.shoot(`question-by-${askedBy}`);
  await page.question.getByRole("button", { name: "Answer" }).click();
  await page.heard(question.answer);
  question.check?.();
  assert.equal(await page.question.locator("button").count(), 0, "nothing is left to be answered");
  await page.shoot(`answered-by-${askedBy}`);
}

async function assertStopped(page, stage) {
  const { outcome } = await stage.endOf(await page.thread());
  assert.equal(outcome, "cancelled");
}
