/**
 * open.ts -- run by memory-size.ts in a process of its own: opens memory as the daemon does, recalls, and prints its figures as JSON.
 *
 *   node bench/memory-size/open.ts <file of the store> [<folder of snapshots>]
 */

import type { Store } from "#core/ports/store.ts";
import { openLongTermMemory, type RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { IndexSnapshots } from "#memory/recall/snapshots.ts";
import { openWordEmbedder } from "#memory/vectors/offline-embedder.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { median } from "../shared/median.ts";
import { collectGarbage, cpuMs, cpuOf } from "../shared/meter.ts";
import { AGENT, makeTexts } from "./fill.ts";

export interface SizeFigures {
  /** Opening the store and memory, with the first recall. */
  readonly coldCpuMs: number;
  readonly coldWallMs: number;
  /** Longest work of the main thread between two timers, as CPU of that thread, after the store was opened. */
  readonly stallMs: number;
  readonly rssBeforeMb: number;
  readonly rssAfterMb: number;
  /** Main memory in use after a garbage collection, over that before opening. */
  readonly usedMb: number;
  /** Median CPU of a recall. */
  readonly warmOneMs: number;
  readonly warmFifteenMs: number;
}

const WARM_RECALLS = 60;
const WARM_UP = 20;
const QUESTION_CHARS = 60;
const MESSAGE_CHARS = 300;
const live = new AbortController().signal;
const usedMb = (): number => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
};
const rssMb = (): number => process.memoryUsage().rss / 1e6;

console.log(JSON.stringify(await measure(process.argv[2] ?? "", process.argv[3])));

async function measure(path: string, folder: string | undefined): Promise<SizeFigures> {
  const makeText = makeTexts(7);
  const usedBefore = usedMb();
  const rssBeforeMb = rssMb();
  const { memory, close, ...cold } = await openCold(path, folder, makeText(QUESTION_CHARS));
  const rssAfterMb = rssMb();
  const used = usedMb() - usedBefore;
  const warmOneMs = await measureWarm(memory, () => [makeText(QUESTION_CHARS)]);
  const warmFifteenMs = await measureWarm(memory, () => [
    ...Array.from({ length: 14 }, () => makeText(MESSAGE_CHARS)),
    makeText(QUESTION_CHARS),
  ]);
  await close();
  return { ...cold, rssBeforeMb, rssAfterMb, usedMb: used, warmOneMs, warmFifteenMs };
}

async function openCold(path: string, folder: string | undefined, question: string) {
  const startedAt = performance.now();
  const before = cpuMs();
  const store = await openSqliteStore(path);
  const stalls = watchStalls();
  const snapshots = folder ? { snapshots: openSnapshots(store, folder) } : {};
  const memory = openLongTermMemory({ store, embedder: openWordEmbedder(), report: fail, ...snapshots });
  await recall(memory, [question]);
  const stallMs = stalls.stop();
  const coldCpuMs = cpuMs() - before;
  const close = async (): Promise<void> => {
    await memory.close();
    await store.close();
  };
  return { memory, close, coldCpuMs, coldWallMs: performance.now() - startedAt, stallMs };
}

function openSnapshots(store: Store, folder: string): IndexSnapshots {
  return new IndexSnapshots({ store, folderOf: () => folder, note: fail, isWriter: true });
}

/** A stall is CPU time, because elapsed time on a busy machine also counts the work of others. */
function watchStalls(): { stop(): number } {
  let longest = 0;
  let before = process.threadCpuUsage();
  const note = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  const timer = setInterval(note, 1);
  return {
    stop: () => {
      clearInterval(timer);
      note();
      return longest;
    },
  };
}

async function measureWarm(memory: RecallingMemory, makeTexts: () => readonly string[]): Promise<number> {
  const spent: number[] = [];
  for (let at = 0; at < WARM_UP + WARM_RECALLS; at++) {
    const texts = makeTexts();
    spent.push(await cpuOf(() => recall(memory, texts)));
  }
  return median(spent.slice(WARM_UP));
}

async function recall(memory: RecallingMemory, texts: readonly string[]): Promise<void> {
  const found = await memory.recall({ agent: AGENT, texts, count: 10, excludeSteps: new Set() }, live);
  if (found.length !== 10) fail(`Expected ten recalls, got ${found.length}.`);
}

function fail(problem: string): never {
  throw new Error(problem);
}
