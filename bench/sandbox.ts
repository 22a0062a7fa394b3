/**
 * sandbox.ts -- measures the sandbox: starts, cells, calls of the host, memory, and how fast it ends what does not end itself.
 *
 *   node bench/sandbox.ts [rounds=7]
 *
 * All rows of a table run in turn in each round, so that other load on the machine meets all of them. Figures are medians of the
 * rounds, ratios are medians of the rounds' ratios. A missed target is printed and does not fail the bench.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import type { Cell, CellBridge, CellOutcome, Sandbox } from "#core/ports/sandbox.ts";
import { median } from "./shared/median.ts";
import { processesBelow, rssBytesOf } from "./shared/meter.ts";
import { describeMachine, rowOf, verdictOf } from "./shared/print.ts";
import { readCount } from "./shared/read-count.ts";

const ROUNDS = readCount(0, "the rounds", 7);
const CALLS = 200;
const CELLS = 50;
const MAX_KILL_MS = 100;
const MAX_HOST_DELAY_MS = 50;
const TIME_LIMIT_MS = 500;
const line = rowOf(48, 14);

using root = mkdtempDisposableSync(join(tmpdir(), "goald-sandbox-"));
const { signal } = new AbortController();
let cells = 0;

/** Answers calls at once, and has no files. */
const host: CellBridge = {
  call: async () => ({ value: 1, changesFiles: false }),
  run: async () => ({ value: 1 }),
  listFiles: async () => ({ files: [], isComplete: true }),
  readFile: async () => ({ error: { code: "file-missing", text: "There is no such file." } }),
  saveFiles: async () => ({ value: null }),
};

const { level, reason } = await findCage();
console.log(describeMachine());
console.log(`The cage is ${level}. ${reason}\n`);
await measureStarts();
await measureCells();
await measureKills();

function open(cacheFolder = join(root.path, "cache")): Sandbox {
  return createSandbox({ findCage, cacheFolder, maxProcesses: 4, memoryMegabytes: 512, idleMs: 60_000 });
}

function cellOf(code: string, agent = "a"): Cell {
  cells++;
  return {
    agent,
    code,
    name: `cell ${cells}`,
    version: `c${cells}`,
    saved: null,
    seed: cells,
    startedAt: "2026-11-23T00:00:00.000Z",
    timeLimitMs: TIME_LIMIT_MS,
    modules: [],
    imports: "safe",
    functions: [{ name: "look", parameters: [], signature: "look()", doc: "Returns 1." }],
  };
}

/** Cells of one namespace, one after the other. */
function openNamespace(sandbox: Sandbox) {
  let saved: CellOutcome["saved"] = null;
  const agent = `a${++cells}`;
  return async (code: string): Promise<CellOutcome> => {
    const outcome = await sandbox.run({ ...cellOf(code, agent), saved }, host, signal);
    ({ saved } = outcome);
    return outcome;
  };
}

// ---------------------------------------------------------------- starts

interface Start {
  readonly ms: number;
  readonly megabytes: number;
}

async function measureStarts(): Promise<void> {
  // A folder that cannot be made: Python then starts without a snapshot.
  const noSnapshot = "/dev/null/none";
  const sides: readonly (readonly [title: string, start: () => Promise<Start>])[] = [
    ["Python, snapshot", () => startCell()],
    ["Python, no snapshot", () => startCell(noSnapshot)],
    ["native python3 -c 1+1", () => startProgram("python3", ["-c", "1+1"])],
    ["node -e 1+1", () => startProgram(process.execPath, ["-e", "1+1"])],
  ];
  // The first start makes the snapshot and fills caches.
  for (const [, start] of sides) await start();
  const rounds: (readonly Start[])[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const starts: Start[] = [];
    for (const [, start] of sides) starts.push(await start());
    rounds.push(starts);
  }
  console.log(line("from nothing to the result of 1+1", "ms", "ratio", "RSS MB"));
  for (const [at, [title]] of sides.entries()) {
    const of = (pick: (start: Start) => number) => median(rounds.map((round) => pick(round[at] as Start)));
    const ratio = median(rounds.map((round) => (round[at]?.ms ?? 0) / (round[0]?.ms ?? 0)));
    const memory = of(({ megabytes }) => megabytes);
    console.log(
      line(title, of(({ ms }) => ms).toFixed(0), ratio.toFixed(2), Number.isNaN(memory) ? "" : memory.toFixed(0)),
    );
  }
}

async function startCell(cacheFolder?: string): Promise<Start> {
  const sandbox = open(cacheFolder);
  const startedAt = performance.now();
  const outcome = await openNamespace(sandbox)("1 + 1");
  const ms = performance.now() - startedAt;
  requireValue(outcome, "2");
  const megabytes = memoryBelow();
  await sandbox.close();
  return { ms, megabytes };
}

async function startProgram(program: string, args: readonly string[]): Promise<Start> {
  const startedAt = performance.now();
  const child = spawn(program, args, { stdio: "ignore" });
  const exit = once(child, "exit").catch(() => undefined);
  await exit;
  return { ms: performance.now() - startedAt, megabytes: Number.NaN };
}

/** Sums the memory of all processes below this one. Shared pages count once for each. */
function memoryBelow(): number {
  const [, ...below] = processesBelow(process.pid);
  return below.reduce((sum, pid) => sum + rssBytesOf(pid), 0) / 1e6;
}

// ---------------------------------------------------------------- cells

async function measureCells(): Promise<void> {
  const sandbox = open();
  const run = openNamespace(sandbox);
  requireValue(await run("1 + 1"), "2");
  console.log(`\n${line("warm", "ms")}`);
  for (const [title, code, each, rounds] of [
    ["cell 1+1", "1 + 1", 1, CELLS],
    ["call of a function of the host", `for _ in range(${CALLS}): look()`, CALLS, ROUNDS],
    ["a loop of 1,000,000", "total = 0\nfor each in range(10**6): total += each", 1, ROUNDS],
  ] as const) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await timeOf(() => run(code)));
    console.log(line(title, (median(times) / each).toFixed(2)));
  }
  await sandbox.close();
}

async function timeOf(act: () => Promise<CellOutcome>): Promise<number> {
  const startedAt = performance.now();
  const outcome = await act();
  if (outcome.kind === "failed") throw new Error(outcome.problem.message);
  return performance.now() - startedAt;
}

// ---------------------------------------------------------------- code that does not end

async function measureKills(): Promise<void> {
  const sandbox = open();
  const swallows = "while True:\n    try:\n        while True: pass\n    except BaseException: pass";
  const sides: readonly (readonly [title: string, code: string])[] = [
    ["an endless loop", "while True: pass"],
    ["and it catches every interruption", swallows],
  ];
  let longestDelayMs = 0;
  console.log(`\n${line("from the limit to the end of the cell", "median ms", "most ms", `at most ${MAX_KILL_MS}`)}`);
  for (const [title, code] of sides) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const run = openNamespace(sandbox);
      requireValue(await run("1 + 1"), "2");
      await sleep(50);
      const delays = monitorEventLoopDelay({ resolution: 1 });
      delays.enable();
      const startedAt = performance.now();
      const outcome = await run(code);
      times.push(performance.now() - startedAt - TIME_LIMIT_MS);
      delays.disable();
      longestDelayMs = Math.max(longestDelayMs, delays.max / 1e6);
      if (outcome.kind === "done") throw new Error(`Expected ${title} to fail.`);
    }
    const verdict = verdictOf(median(times) <= MAX_KILL_MS);
    console.log(line(title, median(times).toFixed(0), Math.max(...times).toFixed(0), verdict));
  }
  await sandbox.close();
  const verdict = verdictOf(longestDelayMs <= MAX_HOST_DELAY_MS);
  console.log(
    `\n${line("longest delay of the host meanwhile, ms", longestDelayMs.toFixed(0), "", `at most ${MAX_HOST_DELAY_MS}`, verdict)}`,
  );
}

function requireValue(outcome: CellOutcome, text: string): void {
  const found = outcome.kind === "done" ? outcome.value?.text : outcome.problem.message;
  if (found !== text) throw new Error(`Expected ${text}, got ${found}.`);
}
