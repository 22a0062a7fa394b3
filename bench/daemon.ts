/**
 * daemon.ts -- measures memory, start and response times of an idle daemon, compared with `node -e 0`.
 *
 *   node bench/daemon.ts [rounds=10]
 *
 * Targets: less than 100 MB when idle, ready in less than 0.5 s, `goald status` in less than 150 ms. A missed target
 * is printed and does not fail the bench. Figures are medians of the rounds, taken in turn.
 */
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./shared/median.ts";
import { readCount } from "./shared/read-count.ts";

const ROUNDS = readCount(0, "the rounds", 10);
const SETTLE_MS = 5_000;
const GOALD = join(import.meta.dirname, "../src/goald.js");

const home = mkdtempSync(join(tmpdir(), "goald-daemon-"));
const env = { ...process.env, NODE_COMPILE_CACHE: join(home, "compile-cache"), OPENAI_API_KEY: "bench-needs-no-key" };
try {
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
      status.push(timeOf([GOALD, "status", "--home", home]));
      ps.push(timeOf([GOALD, "ps", "--home", home]));
      if (round > 0) return;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      rss.push(rssMb(pid));
    });
  const [processor] = cpus();
  console.log(`An idle daemon, medians of ${ROUNDS} rounds.`);
  console.log(`Node ${process.versions.node}, ${cpus().length} × ${processor?.model.trim()}, ${process.platform}.\n`);
  show("RSS MB after five seconds", median(rss), 100);
  show("ms from start to ready", median(ready), 500);
  show("ms of `goald status`", median(status), 150);
  show("ms of `goald ps`", median(ps), undefined);
  show("ms of `node -e 0`", median(node), undefined);
  console.log(`\n\`goald status\` takes ${(median(status) / median(node)).toFixed(2)} times as long as \`node -e 0\`.`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function withDaemon(look: (pid: number, readyMs: number) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const daemon = fork(GOALD, ["daemon", "--home", home], { env });
  const [hello] = (await once(daemon, "message")) as [{ ready?: { pid: number } }];
  const readyMs = performance.now() - startedAt;
  if (!hello.ready) throw new Error(`Expected the daemon to be ready, got ${JSON.stringify(hello)}.`);
  await look(hello.ready.pid, readyMs);
  daemon.kill("SIGTERM");
  await once(daemon, "exit");
}

function timeOf(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}

function rssMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

function show(title: string, measured: number, atMost: number | undefined): void {
  const verdict = atMost === undefined ? "" : `at most ${atMost}: ${measured <= atMost ? "met" : "MISSED"}`;
  console.log(title.padEnd(34) + measured.toFixed(0).padStart(6) + verdict.padStart(24));
}
