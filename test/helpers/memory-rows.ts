/**
 * memory-rows.ts -- the part of a store that recall reads: memory rows in main memory.
 *
 * Counts calls, and fails on demand.
 */
import type { MemoryRow, NewMemory, Recall, RecallQuery } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { type LongTermMemoryParts, openLongTermMemory } from "#memory/recall/long-term-memory.ts";
import { openHashEmbedder } from "./hash-embedder.ts";

export interface MemoryRows extends Pick<Store, "memories" | "memory" | "saveVectors"> {
  /** Adds one row; seq and step go up by one unless given. */
  add(agent: string, text: string, given?: Partial<NewMemory>): MemoryRow;
  /** Forgets a row as a person does: it comes again without its text and its vector. */
  forget(agent: string, id: string): void;
  /** Changes fields of a row; it comes again. */
  change(agent: string, id: string, changed: Partial<MemoryRow>): void;
  /** Marks a row as replaced; it comes again. */
  supersede(agent: string, id: string): void;
  readonly rows: ReadonlyMap<string, readonly MemoryRow[]>;
  /** Number of rows returned so far, and number of calls that saved vectors. */
  readonly counts: { read: number; saved: number };
  /** Errors that every call throws while they are set. */
  readonly trouble: { reading?: Error; readingTexts?: Error; saving?: Error };
}

export function memoryRows(): MemoryRows {
  const rows = new Map<string, MemoryRow[]>();
  const counts = { read: 0, saved: 0 };
  const trouble: MemoryRows["trouble"] = {};
  const of = (agent: string): MemoryRow[] => {
    const found = rows.get(agent) ?? [];
    rows.set(agent, found);
    return found;
  };

  function change(agent: string, id: string, changed: Partial<MemoryRow>): void {
    const all = of(agent);
    const at = all.findIndex((row) => row.id === id);
    const next = (all.at(-1)?.change ?? 0) + 1;
    const [row] = at < 0 ? [] : all.splice(at, 1);
    if (row) all.push({ ...row, ...changed, change: next });
  }

  return {
    rows,
    counts,
    trouble,
    add(agent, text, given = {}) {
      const all = of(agent);
      const seq = 1 + Math.max(0, ...all.map((row) => row.seq));
      const row: MemoryRow = {
        seq,
        step: 1 + Math.max(0, ...all.map((row) => row.step ?? 0)),
        namespace: agent,
        kind: "step",
        text,
        importance: 0.4,
        trust: "agent",
        ...given,
        id: `${agent}/${given.seq ?? seq}`,
        at: "2026-11-20T10:00:00.000Z",
        embedder: null,
        vector: null,
        change: (all.at(-1)?.change ?? 0) + 1,
        supersedes: given.supersedes ?? null,
        supersededBy: null,
        key: given.key ?? null,
        source: given.source ?? null,
        pinned: false,
        forgotten: null,
      };
      all.push(row);
      return row;
    },
    forget: (agent, id) => change(agent, id, { text: "", forgotten: "person", embedder: null, vector: null }),
    change,
    supersede: (agent, id) => change(agent, id, { supersededBy: `${agent}/0` }),
    async memories(agent, after, limit) {
      if (trouble.reading) throw trouble.reading;
      const all = of(agent);
      let from = all.length;
      while (from > 0 && (all[from - 1]?.change ?? 0) > after) from--;
      const page = all.slice(from, from + limit);
      counts.read += page.length;
      return page;
    },
    async memory(agent, id) {
      if (trouble.readingTexts) throw trouble.readingTexts;
      return of(agent).find((row) => row.id === id);
    },
    async saveVectors(agent, embedder, vectors) {
      if (trouble.saving) throw trouble.saving;
      counts.saved++;
      for (const { id, vector } of vectors) {
        const at = of(agent).findIndex((row) => row.id === id);
        const row = of(agent)[at];
        if (row) of(agent)[at] = { ...row, embedder, vector };
      }
    },
  };
}

export const LIVE = new AbortController().signal;

/** Asks for ten rows of foo. */
export const recallQuery = (texts: readonly string[], change: Partial<RecallQuery> = {}): RecallQuery => ({
  ...{ agent: "foo", texts, count: 10, excludeSteps: new Set() },
  ...change,
});

interface RecallParts extends Partial<Omit<LongTermMemoryParts, "store">> {
  readonly store?: MemoryRows;
}

/** Opens the memory of these rows. What it reports is in `reports`. */
export function openRecall({ store = memoryRows(), embedder = openHashEmbedder(), ...parts }: RecallParts = {}) {
  const reports: string[] = [];
  const memory = openLongTermMemory({ report: (problem) => reports.push(problem), ...parts, store, embedder });
  const recall = (texts: readonly string[], change: Partial<RecallQuery> = {}): Promise<readonly Recall[]> =>
    memory.recall(recallQuery(texts, change), LIVE);
  return { store, memory, reports, recall };
}

/** The ids of all rows that a prompt shows of these recalls. */
export const shownIds = (recalls: readonly Recall[]): readonly string[] =>
  recalls.flatMap(({ id, around, series }) => {
    const others = [...(around ?? []), ...(series?.rows ?? [])];
    return [id, ...others.map((row) => row.id)];
  });
