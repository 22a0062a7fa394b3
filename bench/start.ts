/**
 * start.ts -- measures the time and CPU from spawn to the first model request, of goald and of a plain loop, and the CPU
 * of verbs that only print.
 *
 *   node bench/start.ts [rounds=10]
 *
 * Both sides run in turn with warm compile caches, against a server in this process that refuses the first request, so
 * that each run ends there. CPU is that of all threads of the process. Figures are medians of the rounds, ratios are
 * medians of the rounds' ratios. Verbs run in a new home with an agent. A missed target is printed and does not fail
 * the bench.
 */
import { fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GOALD } from "./shared/bench-daemon.ts";
import { median } from "./shared/median.ts";
import { describeMachine, rowOf, verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";
import type { Job } from "./step-cost/meter.ts";

const ROUNDS = readCount(0, "the rounds", 10);
const MAX_START_RATIO = 2;
const MAX_VERB_CPU_MS = 200;
const line = rowOf(34, 12);
const BARE_LOOP = join(import.meta.dirname, "step-cost/bare.ts");
const AGENT = ["--name", "Bench", "--role", "a clerk", "--goal", "Add one line.", "--continuous"];

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

using root = mkdtempDisposableSync(join(tmpdir(), "goald-start-"));
const home = join(root.path, "home");
await using server = createServer();
server.listen(0, "127.0.0.1");
await once(server, "listening");
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const key = {
  OPENAI_API_KEY: "sk-bench-0123456789abcdefghij",
  OPENAI_BASE_URL: baseUrl,
  GOALD_MEMORY_EMBEDDER: "offline",
};
const env = { ...process.env, ...key, NODE_COMPILE_CACHE: join(root.path, "compile-cache") };
await measureStarts();
await measureVerbs();

async function measureStarts(): Promise<void> {
  // The first start of each fills its compile cache.
  for (const start of [startBareLoop, startGoald]) await start();
  const rounds: { readonly bare: Start; readonly goald: Start }[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push({ bare: await startBareLoop(), goald: await startGoald() });
  console.log(`From spawn to the first model request, medians of ${ROUNDS} rounds.`);
  console.log(`${describeMachine()}\n`);
  console.log(line("", "goald", "plain loop", "ratio", `at most ${MAX_START_RATIO}`));
  for (const [title, unit] of [
    ["ms", "ms"],
    ["ms of CPU", "cpuMs"],
  ] as const) {
    const [goald, bare] = (["goald", "bare"] as const).map((side) => median(rounds.map((round) => round[side][unit])));
    const ratio = median(rounds.map((round) => round.goald[unit] / round.bare[unit]));
    const verdict = verdictOf(ratio <= MAX_START_RATIO);
    console.log(line(title, ...[goald, bare].map((value) => value?.toFixed(0) ?? ""), ratio.toFixed(2), verdict));
  }
}

function startGoald(): Promise<Start> {
  rmSync(home, { recursive: true, force: true });
  return measureStart([GOALD, "run", "--home", home, ...AGENT]);
}

function startBareLoop(): Promise<Start> {
  const folder = mkdtempSync(join(root.path, "bare-"));
  const job: Job = { steps: 1, baseUrl, folder, systemChars: 8_000, lastMessageChars: 1_000 };
  return measureStart([BARE_LOOP, JSON.stringify(job)]);
}

/** Resolves when the process has ended. */
async function measureStart(args: readonly string[]): Promise<Start> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  const exit = once(child, "exit");
  const asked = once(server, "request").then(([request, response]) => {
    const start = { ms: performance.now() - startedAt, cpuMs: readCpuMs(child.pid ?? 0) };
    request.resume();
    response.writeHead(401, { "content-type": "application/json" }).end('{"error":{"message":"enough"}}');
    return start;
  });
  const start = await Promise.race([asked, exit.then(() => undefined)]);
  await exit;
  if (start) return start;
  throw new Error(`Expected a request of node ${args.join(" ")}, but it ended without one.`);
}

/** NaN where the system does not tell the time of each thread. */
function readCpuMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    return times.reduce((sum, nanoseconds) => sum + Number(nanoseconds) / 1e6, 0);
  } catch {
    return Number.NaN;
  }
}

// ---------------------------------------------------------------- verbs that only print

async function measureVerbs(): Promise<void> {
  console.log(`\n${line("ms of CPU of the whole process", "", "", "", `at most ${MAX_VERB_CPU_MS}`)}`);
  showCpu("node -e 0", ["-e", "0"], undefined);
  const callOf = (verb: string): readonly string[] => [GOALD, ...verb.split(" "), "--home", home];
  for (const verb of ["--help", "help run", "ps", "status"]) showCpu(`goald ${verb}`, callOf(verb), MAX_VERB_CPU_MS);
  // The run above may have left a daemon, which this one then says and ends.
  const daemon = fork(GOALD, ["daemon", "--home", home], { env });
  await once(daemon, "message");
  for (const verb of ["ps", "status"]) showCpu(`goald ${verb}, with a daemon`, callOf(verb), MAX_VERB_CPU_MS);
  daemon.kill("SIGTERM");
  await once(daemon, "exit");
}

function showCpu(title: string, args: readonly string[], atMost: number | undefined): void {
  cpuMsOf(args);
  const measured = median(Array.from({ length: ROUNDS }, () => cpuMsOf(args)));
  const verdict = atMost === undefined ? "" : verdictOf(measured <= atMost);
  console.log(line(title, measured.toFixed(0), "", "", verdict));
}

/** The shell reports user and system time of its child in seconds. */
function cpuMsOf(args: readonly string[]): number {
  const script = 'TIMEFORMAT="%3U %3S"; time "$@" > /dev/null 2>&1';
  const { stderr } = spawnSync("bash", ["-c", script, "bash", process.execPath, ...args], { env, encoding: "utf8" });
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(" ").map(Number);
  return (user + system) * 1000;
}
