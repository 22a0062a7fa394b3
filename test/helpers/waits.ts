/** waits.ts -- how often and how long tests go on: waits, rounds, pools, lines of processes, growth of time. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";

const PAUSE_MS = 25;
const WAIT_LIMIT_MS = 45_000;

/** Polls until `isSo` holds. Throws after the time that a test may take. */
export async function waitUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WAIT_LIMIT_MS; !(await isSo()); await sleep(PAUSE_MS))
    if (performance.now() > end) throw new Error(`Waited ${WAIT_LIMIT_MS} ms in vain: ${what}.`);
}

/** Sends SIGKILL to a process, or to a process group for a negative number. Ignores one that has ended. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended already.
  }
}

// How often a randomized test repeats itself.
//
// GOALD_TEST_ROUNDS multiplies both counts. Without it a proof runs its usual rounds, a property runs a tenth of its
// cases, and a story with a cut at every point is cut at every fifth. `npm run test:long` sets it to 1, so that they
// run whole there.

const SET = Number(process.env.GOALD_TEST_ROUNDS) || undefined;

const scale = (count: number, factor: number): number => Math.max(1, Math.round(count * factor));

/** Rounds of a proof. */
export const rounds = (usual: number): number => scale(usual, SET ?? 1);

/** Cases of a property: all of them in `npm run test:long`, a tenth in `npm test`. */
export const cases = (whole: number): number => scale(whole, SET ?? 0.1);

/** Points of a story to cut at: all of them in `npm run test:long`, every fifth in `npm test`. */
export const someOf = <T>(points: readonly T[]): readonly T[] =>
  SET === undefined ? points.filter((_, index) => index % 5 === 0) : points;

// Runs work on items, a few at a time, with one promise for each item.

export function inPool<T, R>(size: number, items: readonly T[], work: (item: T) => Promise<R>): readonly Promise<R>[] {
  const pieces = items.map((item) => ({ item, ...Promise.withResolvers<R>() }));
  const waiting = [...pieces];
  const worker = async (): Promise<void> => {
    for (let piece = waiting.shift(); piece; piece = waiting.shift())
      await work(piece.item).then(piece.resolve, piece.reject);
  };
  for (let count = 0; count < size; count++) void worker();
  return pieces.map(({ promise }) => {
    // A test that waits later still gets the rejection.
    promise.catch(() => undefined);
    return promise;
  });
}

// Reads the standard output of a child process line by line.

export type ProcessLines = ReturnType<typeof readProcessLines>;

export function readProcessLines(child: ChildProcess) {
  const { stdout } = child;
  if (stdout === null) throw new Error("The process has no standard output to be read.");
  /** Complete lines so far. */
  const lines: string[] = [];
  let rest = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  /** Exit code and signal, after the last line. */
  const ended = once(child, "close");
  return {
    child,
    lines,
    ended,
    /** Resolves after `count` lines; throws when the process ends before. */
    reach: async (count: number): Promise<void> => {
      while (lines.length < count && !stdout.readableEnded) await Promise.race([once(stdout, "data"), ended]);
      if (lines.length < count)
        throw new Error(`It ended after ${lines.length} of ${count} lines:\n${lines.join("\n")}`);
    },
  };
}

// Measures by CPU time whether the cost of work grows linearly with its size.

const TRIES = 3;
/** Smaller times are noise. */
const SMALLEST_MS = 5;

/** Returns the cost of `size` divided by that of an eighth: about 8 for linear work, 64 for quadratic work. */
export async function growthOverEightfold(size: number, work: (size: number) => unknown): Promise<number> {
  await work(size / 8);
  const small = await leastCpuMs(() => work(size / 8));
  const large = await leastCpuMs(() => work(size));
  return large / Math.max(SMALLEST_MS, small);
}

async function leastCpuMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < TRIES; time++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

// Collects all garbage, also what a WeakRef held until the end of its task.

export async function collectGarbage(): Promise<void> {
  v8.setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  v8.setFlagsFromString("--no-expose-gc");
  await setImmediate();
  collect();
}
