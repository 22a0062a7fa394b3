/**
 * page.ts -- measures what goald's page keeps in Chromium while agents work for a long time.
 *
 *   node bench/page.ts [agents=20] [minutes=5]
 *   node bench/page.ts 20 60
 *
 * Needs Chromium at /usr/bin/chromium. The agents take a step every three seconds, in a daemon of its own. One tab shows
 * Home and one the first agent. Prints the JavaScript heap and the DOM nodes of both after a collection of garbage, ten
 * times in equal distances.
 *
 * Target of the second call: from the second look to the last, no heap grows by more than a tenth.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { connectHost } from "#api/client.ts";
import { DAEMON_ENVIRONMENT, DAEMON_OPTIONS } from "#api/spawn-daemon.ts";
import { readCount } from "./shared/read-count.ts";

const AGENTS = readCount(0, "the agents", 20);
const MINUTES = readCount(1, "the minutes", 5);
const LOOKS = 10;
const MOST_GROWTH = 1.1;
const STEP_MS = 3_000;
const STEPS = 1_000_000;

const home = mkdtempSync(join(tmpdir(), "goald-page-"));
const model = fork(join(import.meta.dirname, "many-agents/model-server.ts"), [`${STEP_MS}`, `${STEPS}`]);
const [port] = (await once(model, "message")) as [number];
const env = {
  ...DAEMON_ENVIRONMENT,
  ...process.env,
  OPENAI_API_KEY: "bench-needs-no-key",
  OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
  GOALD_MEMORY_EMBEDDER: "offline",
  GOALD_DAEMON_CONCURRENCY: `${AGENTS}`,
};
const daemon = fork(join(import.meta.dirname, "../src/goald.js"), ["daemon", "--home", home], {
  env,
  execArgv: [...DAEMON_OPTIONS],
});
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const [hello] = (await once(daemon, "message")) as [{ ready?: { socket: string } }];
  if (!hello.ready) throw new Error(`Expected the daemon to be ready, got ${JSON.stringify(hello)}.`);
  const client = connectHost(hello.ready.socket);
  const settings = { approve: "never", stepLimit: STEPS } as const;
  for (let number = 1; number <= AGENTS; number++)
    await client.create({ name: `Bench${number}`, role: "a writer of lines", goals: ["Write lines."], settings });
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
  const verdict = growth.every((each) => each <= MOST_GROWTH) ? "met" : "MISSED";
  console.log(
    `\nFrom the second look to the last, times ${growth.map((each) => each.toFixed(2)).join(" and ")}: ${verdict}`,
  );
} finally {
  await browser.close();
  daemon.kill("SIGTERM");
  await once(daemon, "exit");
  model.disconnect();
  rmSync(home, { recursive: true, force: true });
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
  await session.send("HeapProfiler.collectGarbage");
  const [{ usedSize }, { nodes }] = [
    await session.send("Runtime.getHeapUsage"),
    await session.send("Memory.getDOMCounters"),
  ];
  await session.detach();
  return { heapKb: Math.round(usedSize / 1024), nodes };
}
