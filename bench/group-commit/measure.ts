/**
 * measure.ts -- one process of the bench: agents commit to one kind of store for a while, and it reports the cost.
 *
 * Each agent makes the two commits of a step in turn, as fast as it can. The event loop turns between commits,
 * as it does when an answer arrives from a socket.
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { Commit, Store } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite/open-store.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { cpuMs } from "../shared/meter.ts";

/** `always` uses the writer thread with one agent, to measure its cost where it is not needed. */
export type Side = "direct" | "group" | "always";
export interface Job {
  readonly side: Side;
  readonly agents: number;
  /** Removed by the parent. */
  readonly folder: string;
}
export interface Report {
  readonly commitsPerSecond: number;
  /** In the calling thread. */
  readonly p99DelayMs: number;
  /** User and system time of the whole process. */
  readonly cpuMsPerCommit: number;
}

const WARM_UP_MS = 300;
const MEASURE_MS = 600;
const AT = "2026-11-20T10:00:00.000Z";
const NOTHING: Commit = { events: [], consumed: [], memories: [], files: [], blobs: [], staged: [] };

const { side, agents, folder } = JSON.parse(process.argv[2] ?? "{}") as Job;
const path = join(mkdtempSync(join(folder, `${side}-`)), "goald.db");
const store = await open();
const over = new AbortController();
let commits = 0;
const working = Array.from({ length: agents }, (_, index) => work(store, `Agent ${index}`));
await sleep(WARM_UP_MS);
const report = await measure();
over.abort();
await Promise.all(working);
await store.close();
process.send?.(report, () => process.disconnect());

function open(): Promise<Store> {
  if (side === "direct") return openSqliteStore(path);
  return openGroupStore(path, { thread: side === "always" ? "always" : "with-second-agent" });
}

async function measure(): Promise<Report> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const from = performance.now();
  const cpuBefore = cpuMs();
  const before = commits;
  delay.enable();
  await sleep(MEASURE_MS);
  // Includes the delay of this timer itself.
  await sleep(2);
  delay.disable();
  const made = commits - before;
  return {
    commitsPerSecond: made / ((performance.now() - from) / 1000),
    p99DelayMs: delay.percentile(99) / 1e6,
    cpuMsPerCommit: (cpuMs() - cpuBefore) / made,
  };
}

/** Commits the intent, then the result with its memory. */
async function work(store: Store, name: string): Promise<void> {
  const spec = { name, role: "a tester", goals: ["One"], approve: "never", stepLimit: null } as const;
  const { id } = await store.create(spec, name, AT);
  const lease = await store.claim(id);
  for (let head = 1; !over.signal.aborted; head += 4) {
    const intent = [event(head + 1, 200), event(head + 2, 300)];
    const result = [event(head + 3, 800), event(head + 4, 600)];
    await setImmediate();
    await store.commit(lease, head, { ...NOTHING, events: intent });
    commits++;
    await setImmediate();
    await store.commit(lease, head + 2, { ...NOTHING, events: result, memories: [memory(head + 3, id)] });
    commits++;
  }
}

function event(seq: number, chars: number): RecordedEvent {
  const text = "x".repeat(chars);
  return { v: EVENT_VERSION, seq, at: AT, frame: 0, type: "message-received", from: "ada", text };
}

function memory(seq: number, namespace: string): Commit["memories"][number] {
  const text = "what came of the step ".repeat(10);
  return { seq, step: seq, namespace, kind: "step", text, importance: 0.4, trust: "agent" };
}
