/**
 * wake.ts -- measures what one wake costs by the age of the agent: a message, the claim, one step, the report, the rest.
 *
 *   node bench/wake.ts [rounds=15] [oldest=100000]
 *
 * The logs are written through the store's port, not run. One host then wakes all agents in turn, against a model server
 * in another process that answers at once, so other load on the machine slows all ages alike. Agents without rows in
 * long-term memory show the wake itself; for the others, the first wake also builds the memory's index. Figures are medians.
 * Target: at 100,000 steps at most 1.2 times the CPU of 100 steps. A missed target is printed and does not fail the bench.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./shared/median.ts";
import { verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";
import type { WakeJob, WakeReport } from "./wake/host.ts";

const ROUNDS = readCount(0, "the rounds", 15);
const OLDEST = readCount(1, "the steps of the oldest agent", 100_000);
const AGES = [100, 3_000, 30_000, 100_000].filter((steps) => steps <= OLDEST);
const MOST = 1.2;

using root = mkdtempDisposableSync(join(tmpdir(), "goald-wake-"));
using model = fork(join(import.meta.dirname, "wake/model-server.ts"));
const [port] = (await once(model, "message")) as [number];
const agents = AGES.flatMap((steps) =>
  [false, true].map((remembers) => ({ name: nameOf(steps, remembers), steps, remembers })),
);
const job: WakeJob = { folder: root.path, baseUrl: `http://127.0.0.1:${port}/v1`, agents, rounds: ROUNDS };
const host = fork(join(import.meta.dirname, "wake/host.ts"), [JSON.stringify(job)]);
const [measured] = (await Promise.race([
  once(host, "message"),
  once(host, "exit").then(([code]) => {
    throw new Error(`Expected figures of the host, but it exited with ${code}.`);
  }),
])) as [{ readonly reports: readonly WakeReport[]; readonly rssMb: number }];
show(measured.reports);
console.log(`\nRSS of the host at the end: ${measured.rssMb.toFixed(0)} MB.`);

function show(reports: readonly WakeReport[]): void {
  console.log(`CPU ms of one wake in a running host, medians of ${ROUNDS}; × is the ratio to ${AGES[0]} steps.\n`);
  console.log(row("steps", "no memory rows", "×", "with memory", "×", "first, builds index"));
  const later = (steps: number, remembers: boolean): number =>
    median(reports.find(({ name }) => name === nameOf(steps, remembers))?.laterMs ?? []);
  const [youngest = 100] = AGES;
  const ratio = (steps: number, remembers: boolean): number => later(steps, remembers) / later(youngest, remembers);
  for (const steps of AGES) {
    const first = reports.find(({ name }) => name === nameOf(steps, true))?.firstMs ?? Number.NaN;
    const [plain, remembering] = [false, true].map((remembers) => [
      later(steps, remembers).toFixed(1),
      ratio(steps, remembers).toFixed(2),
    ]) as [string[], string[]];
    console.log(row(`${steps}`, ...plain, ...remembering, first.toFixed(1)));
  }
  const reached = ratio(AGES.at(-1) ?? youngest, false);
  console.log(
    `\nA wake at ${AGES.at(-1)} steps costs ${reached.toFixed(2)} times that at ${youngest} steps, without memory's`,
  );
  console.log(`index. At most ${MOST}: ${verdictOf(reached <= MOST)}.`);
}

function row(...cells: readonly string[]): string {
  return cells.map((cell, place) => cell.padStart([8, 16, 8, 16, 8, 22][place] ?? 8)).join("");
}

function nameOf(steps: number, remembers: boolean): string {
  return `${remembers ? "Remembering" : "Plain"} ${steps}`;
}
