// The example's page in a browser, as a person sees and uses it.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

const PROGRAM = process.env.CHROMIUM || "/usr/bin/chromium";
/** A browser of a test asks nobody on the internet for anything, and may run as root. */
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** How long the page may take for anything that a check waits for: an agent's start takes most of it. */
const PATIENCE = 30_000;

export function openBrowser() {
  return chromium.launch({ executablePath: PROGRAM, args: FLAGS });
}

/** Opens the page as a visitor of its own, who has no conversation yet. */
export async function visit(browser, url, shots) {
  const context = await browser.newContext({ viewport: DESKTOP });
  context.setDefaultTimeout(PATIENCE);
  const page = new Page(await context.newPage(), shots);
  await page.tab.goto(url);
  await page.suggestions.first().waitFor();
  return page;
}

class Page {
  /** What the page complained of since it was last asked. */
  complaints = [];

  constructor(tab, shots) {
    this.tab = tab;
    this.shots = shots;
    tab.on("pageerror", (error) => this.complaints.push(error.message));
    tab.on("console", (line) => line.type() === "error" && this.complaints.push(line.text()));
    /** What the server has sent, for whoever looks for what it must not send. */
    this.received = [];
    tab.on("response", (response) => this.received.push(response.text().catch(() => "")));
    this.input = tab.getByTestId("copilot-chat-textarea");
    this.answers = tab.getByTestId("copilot-assistant-message");
    this.prompts = tab.getByTestId("copilot-user-message");
    this.suggestions = tab.getByTestId("copilot-suggestion");
    this.tools = tab.locator(".tool");
    this.permission = tab.locator(".permission");
    this.question = tab.locator(".question");
    this.notices = tab.locator(".notices");
  }

  /** Begins another conversation, in which the agent asks in this way. */
  async beginAnew(askedBy = "interrupt") {
    await this.tab.getByRole("button", { name: "New chat" }).click();
    await this.tab.locator("header select").selectOption(askedBy);
    await this.suggestions.first().waitFor();
    assert.equal(await this.prompts.count() + await this.answers.count(), 0, "a new conversation is empty");
  }

  /** The order that is open. */
  openOrder() {
    return this.tab.locator('.orders [aria-current="true"]');
  }

  async say(text) {
    await this.input.fill(text);
    await this.input.press("Enter");
    await this.prompts.filter({ hasText: text.slice(0, 40) }).last().waitFor();
  }

  /** Resolves once a message of the agent's has this in it, to that message. It may take `timeout` milliseconds. */
  async heard(text, timeout = PATIENCE) {
    const message = this.answers.filter({ hasText: text }).last();
    await message.waitFor({ timeout });
    return message;
  }

  /** The card of the last call, of one tool where a name is given; a finished one unless `isOpen`. */
  tool(name, isOpen = false) {
    const named = name ? `[data-tool="${name}"]` : "";
    const done = isOpen ? ":not([data-status=complete])" : "[data-status=complete]";
    return this.tab.locator(`.tool${named}${done}`).last();
  }

  /** Resolves to what the last call, or that of one tool, has brought once it is finished, as its card shows it. */
  async resultOf(name) {
    const card = this.tool(name);
    await card.waitFor();
    return card.locator(".result").textContent();
  }

  /** Presses Stop, which stands where Send stood before. */
  async stop() {
    await this.tab.getByTestId("copilot-send-button").click();
  }

  /** Loads the page again; the conversation comes back with it. */
  async reload() {
    await this.tab.reload();
    await this.input.waitFor();
  }

  thread() {
    return this.tab.evaluate(() => localStorage.getItem("order-desk.thread"));
  }

  /** How many messages and calls there are, and what the answers say. */
  async content() {
    return { prompts: await this.prompts.count(), tools: await this.tools.count(), answers: await this.answers.allInnerTexts() };
  }

  /** Takes a picture of what the page looks like on a desktop and on a phone, where nothing is to stick out. */
  async shoot(name) {
    mkdirSync(this.shots, { recursive: true });
    try {
      for (const [width, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
        await this.tab.setViewportSize(viewport);
        await this.tab.screenshot({ path: join(this.shots, `${name}-${width}.png`) });
        const wide = await this.tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `${name} is ${wide} pixels too wide on a ${width}`);
      }
    } finally {
      await this.tab.setViewportSize(DESKTOP);
    }
  }

  /** What went wrong in the page and was told to nobody else since it was last asked. */
  async takeComplaints() {
    const told = await this.notices.locator("li").allInnerTexts();
    if (told.length > 0) await this.notices.getByRole("button", { name: "Dismiss" }).click();
    return [...this.complaints.splice(0), ...told];
  }

  close() {
    return this.tab.context().close();
  }
}
