/** The pictures of docs/page.md: real agents on the real page. `GOLDEN=write` takes them anew. */
import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "@jest/globals";
import { chromium, type Page } from "playwright-core";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { append, highestTask, nameIn, numberedModel, replyWith, write } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";

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
    : numberedModel(CALLS[name])(request);
}

const PICTURES: readonly (readonly [file: string, hash: string, seen: string])[] = [
  ["home", "#/", ".row:not(.titles)"],
  ["agent", "#/a/ledger", ".step-row"],
  ["approval", "#/a/chef/approve", ".diff"],
  ["files", "#/a/chef/files/plan.md", ".prose table"],
];

it("are of screens that show what the page says of them", async () => {
  await using home = await makeDaemonHome([], { reply });
  const start = (name: string, goal: string, ...more: readonly string[]) =>
    home.goald.print([
      "run",
      "-d",
      "--name",
      name,
      "--role",
      "a helper in the house",
      "-g",
      goal,
      "--budget",
      "1",
      ...more,
    ]);
  await start("Chef", "Plan three dinners in plan.md", "--approve", "always");
  await home.logged("approval-asked", 1, "chef");
  await home.goald.print("approve chef");
  await start("Scout", "Find a night train to Rome");
  await start("Ledger", "Write each day's spending to spending.csv");
  await home.logged("approval-asked", 2, "chef");
  await home.logged("command-waiting", 1, "scout");
  await home.logged("command-finished", 7, "ledger");
  const { url } = await home.goald.json<{ url: string }>("dashboard");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  await using _closing = { [Symbol.asyncDispose]: () => browser.close() };
  const page: Page = await browser.newPage({ viewport: { width: 1_100, height: 600 } });
  await page.goto(url);
  const text = await readFile("docs/page.md", "utf8");
  for (const [name, hash, seen] of PICTURES) {
    await page.goto(`${new URL(url).origin}/${hash}`);
    await page.locator(seen).first().waitFor();
    const file = `page-${name}.png`;
    expect(text).toContain(`](${file})`);
    const picture = await page.screenshot({ type: "png" });
    if (process.env.GOLDEN === "write") await writeFile(`docs/${file}`, picture);
    const kept = await readFile(`docs/${file}`);
    // Times differ. The size of the picture is in its header.
    expect(kept.subarray(0, 24)).toEqual(picture.subarray(0, 24));
  }
});
