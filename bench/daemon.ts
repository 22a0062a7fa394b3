/**
 * daemon.ts -- measures memory, start and response times of an idle daemon, compared with `node -e 0`.
 *
 *   node bench/daemon.ts [rounds=10]
 *
 * Targets: less than 100 MB when idle, ready in less than 0.5 s, `goald status` in less than 150 ms. A missed target
 * is printed and does not fail the bench. Figures are medians of the rounds, taken in turn.
 */
import { spawnSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GOALD, startDaemon } from "./shared/bench-daemon.ts";
import { median } from "./shared/median.ts";
import { rssBytesOf } from "./shared/meter.ts";
import { describeMachine, verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const ROUNDS = readCount(0, "the rounds", 10);
const SETTLE_MS = 5_000;

using root = mkdtempDisposableSync(join(tmpdir(), "goald-daemon-"));
const env = {
  ...process.env,
  NODE_COMPILE_CACHE: join(root.path, "compile-cache"),
  OPENAI_API_KEY: "bench-needs-no-key",
};
const ready: number[] = [];
const rss: number[] = [];
const node: number[] = [];
const status: number[] = [];
const ps: number[] = [];
// The first start fills the compile cache.
await withDaemon(async () => undefined);
for (let round = 0; round < ROUNDS; round++)
  await withDaemon(async (pid, readyMs) => {
    ready.push(readyMs);
    node.push(timeOf(["-e", "0"]));
    status.push(timeOf([GOALD, "status", "--home", root.path]));
    ps.push(timeOf([GOALD, "ps", "--home", root.path]));
    if (round > 0) return;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    rss.push(rssBytesOf(pid) / 2 ** 20);
  });
console.log(`An idle daemon, medians of ${ROUNDS} rounds.`);
console.log(`${describeMachine()}\n`);
show("RSS MB after five seconds", median(rss), 100);
show("ms from start to ready", median(ready), 500);
show("ms of `goald status`", median(status), 150);
show("ms of `goald ps`", median(ps), undefined);
show("ms of `node -e 0`", median(node), undefined);
console.log(`\n\`goald status\` takes ${(median(status) / median(node)).toFixed(2)} times as long as \`node -e 0\`.`);

async function withDaemon(look: (pid: number, readyMs: number) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await using daemon = await startDaemon(root.path, env);
  await look(daemon.pid, performance.now() - startedAt);
}

function timeOf(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}

function show(title: string, measured: number, atMost: number | undefined): void {
  const verdict = atMost === undefined ? "" : `at most ${atMost}: ${verdictOf(measured <= atMost)}`;
  console.log(title.padEnd(34) + measured.toFixed(0).padStart(6) + verdict.padStart(24));
}
