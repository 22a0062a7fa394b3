/**
 * group-commit.ts -- measures durable commits of many agents: one fsync per commit against one for all waiting commits.
 *
 *   node bench/group-commit.ts [rounds]
 *
 * The store that writes in the calling thread (openSqliteStore) and the one with a writer thread (openGroupStore) take turns,
 * each in a process of its own (group-commit/measure.ts), then both again on a disk that is
 * made slow (group-commit/slow-disk.ts). Figures are medians of the rounds. Absolute figures depend on the disk and the
 * other load; compare the ratios.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job, Report, Side } from "./group-commit/measure.ts";
import { median } from "./shared/median.ts";
import { describeMachine, rowOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const line = rowOf(62, 10);
const AGENTS = [1, 10, 50, 200];
const ROUNDS = readCount(0, "the rounds", 1);
const DISKS = ["this disk", "a disk of 4 ms"] as const;

interface Run extends Report {
  readonly disk: (typeof DISKS)[number];
  readonly side: Side;
  readonly agents: number;
}
type Pick = (run: Run) => number;

const FIGURES: readonly { readonly title: string; readonly pick: Pick; readonly digits: number }[] = [
  { title: "commits per second", pick: (run) => run.commitsPerSecond, digits: 0 },
  { title: "p99 event-loop delay ms", pick: (run) => run.p99DelayMs, digits: 1 },
  { title: "CPU ms per commit", pick: (run) => run.cpuMsPerCommit, digits: 3 },
];

using root = mkdtempDisposableSync(join(tmpdir(), "goald-bench-"));
const runs: Run[] = [];
for (let round = 0; round < ROUNDS; round++)
  for (const disk of DISKS)
    for (const agents of AGENTS)
      for (const side of ["direct", "group", "always"] as const)
        if (side !== "always" || agents === 1) runs.push(await measure(disk, side, agents));
show(runs);

async function measure(disk: Run["disk"], side: Side, agents: number): Promise<Run> {
  const job: Job = { side, agents, folder: root.path };
  const preload = disk === "this disk" ? [] : ["--import", join(import.meta.dirname, "group-commit/slow-disk.ts")];
  const env = { ...process.env, NODE_COMPILE_CACHE: join(root.path, "compile-cache") };
  const child = fork(join(import.meta.dirname, "group-commit/measure.ts"), [JSON.stringify(job)], {
    env,
    execArgv: preload,
  });
  const [report] = (await once(child, "message")) as [Report];
  await once(child, "exit");
  return { disk, side, agents, ...report };
}

function show(runs: readonly Run[]): void {
  console.log(`Durable commits of many agents, medians of ${ROUNDS} rounds, both sides in turn.`);
  console.log(describeMachine());
  console.log(
    "direct: the calling thread waits for the disk at each commit; group: the writer thread commits all waiting units at once.",
  );
  for (const disk of DISKS) {
    const of = (side: Side, agents: number, pick: Pick): number =>
      median(runs.filter((run) => run.disk === disk && run.side === side && run.agents === agents).map(pick));
    console.log(`\n${line(disk, "direct", "group", "ratio")}`);
    for (const { title, pick, digits } of FIGURES)
      for (const agents of AGENTS)
        showRow(
          `${title}, ${agents === 1 ? "1 agent" : `${agents} agents`}`,
          of("direct", agents, pick),
          of("group", agents, pick),
          digits,
        );
    for (const { title, pick, digits } of FIGURES)
      showRow(`${title}, 1 agent, with the writer thread`, of("direct", 1, pick), of("always", 1, pick), digits);
  }
}

function showRow(title: string, direct: number, group: number, digits: number): void {
  console.log(line(title, direct.toFixed(digits), group.toFixed(digits), (group / direct).toFixed(2)));
}
