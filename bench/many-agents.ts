/**
 * many-agents.ts -- measures many agents in one daemon, against a model server that answers after 50 ms.
 *
 *   node bench/many-agents.ts [agents=200] [steps=10]
 *   node bench/many-agents.ts 20 640
 *
 * Runs the real daemon in a process of its own, with the options of a daemon that goald starts, and talks to its socket.
 * All agents must finish. Prints event-loop delay and memory of the daemon, and its steps per second.
 *
 * Targets of the second call: from 2,000 to 12,000 steps, over all agents, RSS grows by at most 2 KB a step; two minutes
 * after the end it is within 80 MB of the idle daemon's.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { countStandings } from "#views/agent-view.ts";
import { createWriters, startBenchDaemon } from "./shared/bench-daemon.ts";
import { cpuMsOf, rssBytesOf } from "./shared/meter.ts";
import { rowOf, verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const AGENTS = readCount(0, "the agents", 200);
const STEPS = readCount(1, "the steps", 10);
const LATENCY_MS = 50;
const CONCURRENCY = 200;
const SETTLE_MS = 5_000;
const MARKS = [2_000, 12_000] as const;
const AFTER_END_MS = 120_000;
const line = rowOf(48, 24);

await using daemon = await startBenchDaemon({ latencyMs: LATENCY_MS, steps: STEPS, concurrency: CONCURRENCY });
const { pid, client, model } = daemon;
await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
const idleMb = rssMb(pid);
const startedAt = performance.now();
await createWriters(client, AGENTS, 10 * STEPS);
let peakMb = idleMb;
const marksMb: number[] = [];
let peakDelay = { p50: 0, p99: 0, max: 0 };
for (;;) {
  const { eventLoopDelayMs } = await client.status();
  const agents = countStandings(await client.agents());
  peakMb = Math.max(peakMb, rssMb(pid));
  if ((await countCalls(model)).requests >= (MARKS[marksMb.length] ?? Number.POSITIVE_INFINITY))
    marksMb.push(rssMb(pid));
  if (eventLoopDelayMs.p99 >= peakDelay.p99) peakDelay = eventLoopDelayMs;
  if (agents.finished === AGENTS) break;
  if (agents.paused > 0) throw new Error(`${agents.paused} agents were paused.`);
  await new Promise((resolve) => setTimeout(resolve, 250));
}
const seconds = (performance.now() - startedAt) / 1000;
const { requests, mostOpen } = await countCalls(model);
if (requests !== AGENTS * STEPS) throw new Error(`Expected ${AGENTS * STEPS} model calls, counted ${requests}.`);
const rows: readonly (readonly [string, string])[] = [
  ["agents that finished", `${AGENTS} of ${AGENTS}`],
  ["steps", `${requests}`],
  ["seconds", seconds.toFixed(1)],
  ["steps per second", (requests / seconds).toFixed(0)],
  ["most model calls at the same time", `${mostOpen}`],
  ["CPU ms per step", (cpuMsOf(pid) / requests).toFixed(2)],
  ["event-loop delay ms p50 / p99 / max", `${peakDelay.p50} / ${peakDelay.p99} / ${peakDelay.max}`],
  ["RSS MB idle / peak / at the end", `${idleMb} / ${peakMb} / ${rssMb(pid)}`],
  ...(await measureMemory(pid, idleMb, marksMb)),
];
console.log(
  `${AGENTS} agents of ${STEPS} steps each in one daemon; the model server answers after ${LATENCY_MS} ms.\n`,
);
for (const [title, figure] of rows) console.log(line(title, figure));

async function countCalls(model: ChildProcess): Promise<{ readonly requests: number; readonly mostOpen: number }> {
  model.send("count");
  const [counts] = (await once(model, "message")) as [{ readonly requests: number; readonly mostOpen: number }];
  return counts;
}

/** Returns no rows for a bench of too few steps. */
async function measureMemory(pid: number, idleMb: number, [early, late]: readonly number[]) {
  if (early === undefined || late === undefined) return [];
  const grownKb = ((late - early) * 1024) / (MARKS[1] - MARKS[0]);
  await new Promise((resolve) => setTimeout(resolve, AFTER_END_MS));
  const afterMb = rssMb(pid);
  return [
    [`RSS MB at ${MARKS.join(" / ")} steps`, `${early} / ${late}`],
    ["KB per step between, at most 2", `${grownKb.toFixed(1)} ${verdictOf(grownKb <= 2)}`],
    ["RSS MB two minutes later, at most idle + 80", `${afterMb} ${verdictOf(afterMb <= idleMb + 80)}`],
  ] as const;
}

function rssMb(pid: number): number {
  return Math.round(rssBytesOf(pid) / 2 ** 20);
}
