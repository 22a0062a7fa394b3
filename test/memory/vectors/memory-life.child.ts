/**
 * A memory with a graph that killed-memory.long.ts starts and kills again and again on the same home.
 *
 * It checks the stored rows and the search results against a scan and prints the outcome. Then it commits rows, saves
 * vectors in batches and the graph every few rows; some runs rebuild every vector with another embedder. It prints a
 * line per row, after the commit.
 */
import { existsSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";
import { plainIndex } from "../../helpers/plain-index.ts";
import { randomNumbers } from "../../helpers/random-vectors.ts";
import { openSettledGraph, type SettledGraph } from "../../helpers/settled-graph.ts";

const [home = "", life = "0", acknowledged = "0"] = process.argv.slice(2);
const DIMENSIONS = 16;
/** Every fifth run uses another embedder than the four before. */
const generation = Math.floor(Number(life) / 5);
const embedder = `test-${generation}@${DIMENSIONS}`;
const AT = "2026-11-20T10:00:00.000Z";
const say = (what: object): void => void writeSync(1, `${JSON.stringify(what)}\n`);

const vectorOf = (seq: number): Float32Array => {
  const next = randomNumbers(seq * 1_000 + generation);
  return new Float32Array(DIMENSIONS).map(() => next() - 0.5);
};

// A killed process leaves no compile cache.
flushCompileCache();
const store = await openSqliteStore(join(home, "goald.db"));
await store.create({ name: "Foo", role: "r", goals: ["g"], approve: "never", stepLimit: null }, "foo", AT);
const lease = await store.claim("foo");
const rows = await allRows(store);
let head = (await store.load("foo", 1)).events.at(-1)?.seq ?? 1;
const missing = Math.max(0, Number(acknowledged) - (rows.at(-1)?.seq ?? 0));

const folder = join(home, "index", embedder);
let index = open();
for (const row of rows) if (row.embedder === embedder && row.vector) await index.add(row.seq, row.vector);
say({ type: "opened", rows: rows.length, missing, same: await answersTheSame(index, rows), kept: existsSync(folder) });

await saveVectors(rows.filter((row) => row.embedder !== embedder).map(({ seq }) => seq));
for (let round = 0; ; round++) {
  const lot: number[] = [];
  for (let at = 0; at < 4; at++) lot.push(await remember());
  await saveVectors(lot);
  await index.search(vectorOf(round), 5);
  if (round % 2 === 0) {
    await index.close();
    say({ type: "kept" });
    index = open();
    for (const row of await allRows(store))
      if (row.embedder === embedder && row.vector) await index.add(row.seq, row.vector);
  }
}

function open(): SettledGraph {
  return openSettledGraph(DIMENSIONS, { folder });
}

async function allRows(from: Store): Promise<MemoryRow[]> {
  const found: MemoryRow[] = [];
  for (;;) {
    const page = await from.memories("foo", found.at(-1)?.change ?? 0, 256);
    found.push(...page);
    if (page.length < 256) return found;
  }
}

async function answersTheSame(one: SettledGraph, all: readonly MemoryRow[]): Promise<boolean> {
  const plain = plainIndex(DIMENSIONS);
  for (const { seq, embedder: of, vector } of all) if (of === embedder && vector) await plain.add(seq, vector);
  for (const query of [vectorOf(1), vectorOf(7), vectorOf(100_000)]) {
    const [found, truth] = [await one.search(query, 10), await plain.search(query, 10)];
    if (found.map(({ slot }) => slot).join() !== truth.map(({ slot }) => slot).join()) return false;
  }
  return true;
}

async function remember(): Promise<number> {
  const seq = head + 1;
  const event: RecordedEvent = {
    ...{ type: "message-received", from: "ada", text: `Row ${seq}` },
    ...{ v: EVENT_VERSION, seq, at: AT, frame: 0 },
  };
  const memory = {
    seq,
    step: seq,
    namespace: "foo",
    kind: "step",
    text: `Row ${seq}`,
    importance: 0.4,
    trust: "agent",
  } as const;
  await store.commit(lease, head, {
    events: [event],
    memories: [memory],
    consumed: [],
    files: [],
    blobs: [],
    staged: [],
  });
  head = seq;
  say({ type: "row", seq });
  return seq;
}

async function saveVectors(seqs: readonly number[]): Promise<void> {
  for (let from = 0; from < seqs.length; from += 16) {
    const lot = seqs.slice(from, from + 16).map((seq) => ({ id: `foo/${seq}`, vector: vectorOf(seq) }));
    await store.saveVectors("foo", embedder, lot);
    for (const [at, { vector }] of lot.entries()) await index.add(seqs[from + at] as number, vector);
  }
}
