/**
 * durable.ts -- measures the cost of a step's memory when it must survive a crash, and the time to reopen memory.
 *
 * goald: one commit of the real store with the row, vectors saved in batches as recall does, the index, a query. vectra:
 * insertItem, which rewrites its file, and a query. hnswlib-node: its file every hundred steps, which can lose up to a
 * hundred. LangChain has no file. Reopening reads rows with vectors from the store into an index; peers read their own files.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentSpec, Lease } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import { ExactIndex } from "#memory/vectors/exact-index.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { median } from "../shared/median.ts";
import type { Row } from "./contenders.ts";
import { cpuOf } from "./meter.ts";

const STEPS = 500;
const ROUNDS = 3;
const SAVE_EVERY = 16;
const EMBEDDER = "bench@768";
const AT = "2026-11-20T10:00:00.000Z";
const SPEC: AgentSpec = { name: "Bench", role: "a clerk", goals: ["Remember"], approve: "never", stepLimit: null };

export async function measureDurable(folder: string, rows: readonly Row[]): Promise<void> {
  const loops: Record<string, number[]> = { goald: [], "hnswlib-node, a file per 100": [] };
  for (let round = 0; round < ROUNDS; round++) {
    loops.goald?.push(await cpuOf(() => goaldLoop(join(folder, `loop-${round}.db`), rows)));
    loops["hnswlib-node, a file per 100"]?.push(await cpuOf(() => hnswlibLoop(join(folder, "loop.hnsw"), rows)));
  }
  // Measured once, because it takes a hundred times as long as all others together.
  loops.vectra = [await cpuOf(() => vectraLoop(join(folder, "loop-vectra"), rows))];
  const perStep = Object.entries(loops).map(([name, spent]): [string, number] => [name, median(spent) / STEPS]);
  console.log(`\nA durable add and a query, CPU per step over ${STEPS} steps`);
  console.table(Object.fromEntries(perStep.map(([name, ms]) => [name, { "ms per step": Number(ms.toFixed(3)) }])));
  const [own, , vectra] = perStep.map(([, ms]) => ms) as [number, number, number];
  console.log(
    `Target: at least 100 times cheaper than vectra. Measured: ${(vectra / own).toFixed(0)} times, ${vectra / own >= 100 ? "met" : "MISSED"}`,
  );
  await measureOpening(folder, rows);
}

async function goaldLoop(path: string, rows: readonly Row[]): Promise<void> {
  const store = await openSqliteStore(path);
  const index = new ExactIndex(rows[0]?.vector.length ?? 1);
  await store.create(SPEC, "bench", AT);
  const lease = await store.claim("bench");
  for (let step = 1; step <= STEPS; step++) {
    const { vector } = rows[step] as Row;
    await remember(store, lease, step, 1);
    if (step % SAVE_EVERY === 0) await saveVectors(store, rows, step - SAVE_EVERY + 1, step);
    await index.add(step, vector);
    await index.search((rows[step + 1] as Row).vector, 10);
  }
  await index.close();
  await store.close();
}

/** Commits `count` rows at once, each with an event. */
async function remember(store: Store, lease: Lease, first: number, count: number): Promise<void> {
  const seqs = Array.from({ length: count }, (_, at) => first + at);
  const events = seqs.map(
    (step): RecordedEvent => ({
      ...{ type: "message-received", from: "ada", text: `Row ${step}` },
      ...{ v: EVENT_VERSION, seq: step + 1, at: AT, frame: 0 },
    }),
  );
  const memories = seqs.map((step) => ({
    ...({ seq: step + 1, step, namespace: "bench", kind: "step", importance: 0.4, trust: "agent" } as const),
    text: `Step ${step}: append_to_file notes.md, which now has ${step} lines of what was found so far.`,
  }));
  await store.commit(lease, first, { events, memories, consumed: [], files: [], blobs: [], staged: [] });
}

async function saveVectors(store: Store, rows: readonly Row[], from: number, to: number): Promise<void> {
  const lot = [];
  for (let step = from; step <= to; step++) lot.push({ id: `bench/${step + 1}`, vector: (rows[step] as Row).vector });
  await store.saveVectors("bench", EMBEDDER, lot);
}

async function hnswlibLoop(path: string, rows: readonly Row[]): Promise<void> {
  const { default: library } = await import("hnswlib-node");
  const index = new library.HierarchicalNSW("ip", rows[0]?.vector.length ?? 1);
  index.initIndex(STEPS + 1, 16, 200);
  for (let step = 1; step <= STEPS; step++) {
    index.addPoint((rows[step] as Row).numbers, step);
    if (step % 100 === 0) index.writeIndexSync(path);
    index.searchKnn((rows[step + 1] as Row).numbers, 10);
  }
}

async function vectraLoop(folder: string, rows: readonly Row[]): Promise<void> {
  const { LocalIndex } = await import("vectra");
  const index = new LocalIndex<{ at: number }>(folder);
  await index.createIndex();
  for (let step = 1; step <= STEPS; step++) {
    await index.insertItem({ vector: (rows[step] as Row).numbers, metadata: { at: step } });
    await index.queryItems((rows[step + 1] as Row).numbers, "", 10);
  }
}

async function measureOpening(folder: string, rows: readonly Row[]): Promise<void> {
  const count = rows.length - 100;
  const path = join(folder, "opening.db");
  const store = await openSqliteStore(path);
  await store.create(SPEC, "bench", AT);
  const lease = await store.claim("bench");
  for (let first = 1; first < count; first += 500) {
    await remember(store, lease, first, Math.min(500, count - first));
    await saveVectors(store, rows, first, Math.min(first + 499, count - 1));
  }
  await store.close();
  const { LocalIndex } = await import("vectra");
  const kept = join(folder, "opening-vectra");
  const index = new LocalIndex<{ at: number }>(kept);
  await index.createIndex();
  await index.batchInsertItems(rows.slice(0, count).map(({ at, numbers }) => ({ vector: numbers, metadata: { at } })));
  const queryPath = join(folder, "query.json");
  writeFileSync(queryPath, JSON.stringify(rows.at(-1)?.numbers));
  const spent: { goald: number[]; vectra: number[] } = { goald: [], vectra: [] };
  for (let round = 0; round < ROUNDS; round++) {
    spent.goald.push(await openInChild("goald", path, queryPath));
    spent.vectra.push(await openInChild("vectra", kept, queryPath));
  }
  const [own, theirs] = [median(spent.goald), median(spent.vectra)];
  console.log(
    `\nFrom ${count} rows on disk to the first answer: goald ${own.toFixed(0)} ms CPU, vectra ${theirs.toFixed(0)} ms CPU`,
  );
  console.log(
    `Target: at least 5 times cheaper than vectra. Measured: ${(theirs / own).toFixed(1)} times, ${theirs / own >= 5 ? "met" : "MISSED"}`,
  );
}

/** In a process of its own, because garbage of the other contenders would be collected meanwhile. */
async function openInChild(...options: readonly string[]): Promise<number> {
  const script = join(import.meta.dirname, "open.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", script, ...options]);
  return Number(stdout);
}
