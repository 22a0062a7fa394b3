/**
 * page.ts -- measures what goald's page keeps in Chromium while agents work for a long time.
 *
 *   node bench/page.ts [agents=20] [minutes=5]
 *   node bench/page.ts 20 60
 *
 * Needs Chromium at /usr/bin/chromium. The agents take a step every three seconds, in a daemon of its own. One tab shows
 * Home and one the first agent. Prints the JavaScript heap and the DOM nodes of both after three collections of garbage,
 * ten times in equal distances: one collection alone may leave elements that the page has dropped.
 *
 * Target of the second call: from the second look to the last, no heap grows by more than a tenth.
 */
import { chromium, type Page } from "playwright-core";
import { createWriters, startBenchDaemon } from "./shared/bench-daemon.ts";
import { verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const AGENTS = readCount(0, "the agents", 20);
const MINUTES = readCount(1, "the minutes", 5);
const LOOKS = 10;
const MOST_GROWTH = 1.1;
const STEP_MS = 3_000;
const STEPS = 1_000_000;

await using daemon = await startBenchDaemon({ latencyMs: STEP_MS, steps: STEPS, concurrency: AGENTS });
const { client } = daemon;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await createWriters(client, AGENTS, STEPS);
  const [first] = await client.agents();
  const tabs = [
    await openTab((await client.openDashboard()).url, "#/"),
    await openTab((await client.openDashboard()).url, `#/a/${first?.id}`),
  ] as const;
  console.log(`${AGENTS} agents at work for ${MINUTES} minutes.\n`);
  console.log("minute   steps   Home: KB of heap   nodes   Agent: KB of heap   nodes");
  const heaps: (readonly number[])[] = [];
  for (let look = 1; look <= LOOKS; look++) {
    await new Promise((resolve) => setTimeout(resolve, (MINUTES * 60_000) / LOOKS));
    const steps = (await client.agents()).reduce((sum, { step }) => sum + step, 0);
    const [one, other] = [await measure(tabs[0]), await measure(tabs[1])];
    heaps.push([one.heapKb, other.heapKb]);
    const figures = [steps, one.heapKb, one.nodes, other.heapKb, other.nodes];
    const row = figures.map((figure, at) => `${figure}`.padStart([8, 19, 8, 20, 8][at] ?? 8));
    console.log(((look * MINUTES) / LOOKS).toFixed(1).padStart(6) + row.join(""));
  }
  const growth = [0, 1].map((tab) => (heaps.at(-1)?.[tab] ?? 0) / (heaps[1]?.[tab] ?? 1));
  const verdict = verdictOf(growth.every((each) => each <= MOST_GROWTH));
  console.log(
    `\nFrom the second look to the last, times ${growth.map((each) => each.toFixed(2)).join(" and ")}: ${verdict}`,
  );
} finally {
  await browser.close();
}

async function openTab(url: string, hash: string): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1_280, height: 860 } })).newPage();
  await page.goto(url);
  await page.goto(`${new URL(url).origin}/${hash}`);
  await page.getByText("running", { exact: false }).first().waitFor();
  return page;
}

async function measure(page: Page): Promise<{ readonly heapKb: number; readonly nodes: number }> {
  const session = await page.context().newCDPSession(page);
  for (let round = 0; round < 3; round++) await session.send("HeapProfiler.collectGarbage");
  const [{ usedSize }, { nodes }] = [
    await session.send("Runtime.getHeapUsage"),
    await session.send("Memory.getDOMCounters"),
  ];
  await session.detach();
  return { heapKb: Math.round(usedSize / 1024), nodes };
}
