/**
 * host.ts -- the child of the bench that is goald: writes the logs, then opens the real host on them and wakes each agent
 * in turn. CPU is user and system time of the whole process, from the message to the end of the run.
 */
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { Host } from "#app/host.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { cpuMs } from "../shared/meter.ts";
import { openBenchHome, openBenchHost } from "../shared/open-bench-host.ts";
import { type LogJob, writeLog } from "./write-log.ts";

export interface WakeJob {
  readonly folder: string;
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly agents: readonly LogJob[];
  readonly rounds: number;
}

/** CPU of each wake of one agent, the first one apart: it builds what the host keeps afterwards. */
export interface WakeReport {
  readonly name: string;
  readonly firstMs: number;
  readonly laterMs: readonly number[];
}

for (const flag of ["--semi-space-growth-factor=1", "--no-parallel-scavenge", "--heap-growing-percent=100"])
  setFlagsFromString(flag);
const job = JSON.parse(process.argv[2] ?? "{}") as WakeJob;
const home = await openBenchHome(job.folder);
const ids = await writeLogs();
{
  await using host = await openBenchHost(home, job.baseUrl);
  // The first wakes load code and fill caches of the process.
  for (let time = 0; time < 5; time++) await wake(host, ids.warmUp);
  const reports = job.agents.map(({ name }) => ({ name, firstMs: 0, laterMs: [] as number[] }));
  for (let round = 0; round <= job.rounds; round++)
    for (let turn = 0; turn < reports.length; turn++) {
      // Another agent is first in each round: a garbage collection must not always meet the same one.
      const place = (turn + round) % reports.length;
      const report = reports[place] as (typeof reports)[number];
      const wakeMs = await wake(host, ids.agents[place] as string);
      if (round === 0) report.firstMs = wakeMs;
      else report.laterMs.push(wakeMs);
    }
  process.send?.({ reports, rssMb: process.memoryUsage.rss() / 1e6 });
}
process.disconnect();

async function writeLogs(): Promise<{ readonly warmUp: string; readonly agents: readonly string[] }> {
  const store = await openSqliteStore(home.database);
  const warmUp = await writeLog(store, { name: "Warm up", steps: 100, remembers: true });
  const agents: string[] = [];
  for (const agent of job.agents) agents.push(await writeLog(store, agent));
  await store.close();
  return { warmUp, agents };
}

/** Says something, and waits until the agent has made one step and rests. Returns milliseconds of CPU. */
async function wake(host: Host, id: string): Promise<number> {
  const before = await host.store.agent(id);
  const cpuBefore = cpuMs();
  await host.control.say(id, { from: "person", text: "One more thing: note the harbour and the ledger." });
  while (host.supervisor.runners.has(id)) {
    await host.supervisor.runners.get(id)?.settled();
    await setTimeout(5);
  }
  const spentMs = cpuMs() - cpuBefore;
  const { state, step } = await host.control.agent(id);
  const added = ((await host.store.agent(id))?.head ?? 0) - (before?.head ?? 0);
  if (state !== "completed" || added < 8)
    throw new Error(`Expected ${id} to complete one step, got ${state} at step ${step}.`);
  return spentMs;
}
