/** shown.ts -- what a prompt would show of a memory: goald's recalls as rendered rows, or the ten best texts of FTS5. */
import { FACT_IMPORTANCE } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { fitRecalls, renderPassages } from "#prompt/recalls.ts";
import { openRows, toRow } from "../memory-quality/own.ts";
import { fullTextSearch } from "../memory-quality/peers.ts";

/** A row of memory: the texts of a list become rows in order, one per step. Of facts with one key each closes the one before it. */
export type MemoryText = Pick<MemoryRow, "text" | "factKey">;

export interface ShownMemory {
  /** The rows that the prompt shows for these texts, newest last. Best first. */
  ask(texts: readonly string[]): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface MemorySystem {
  readonly name: string;
  open(rows: readonly MemoryText[]): Promise<ShownMemory>;
}

const TEN = 10;
const CONTEXT_TOKENS = 32_000;

export const goald: MemorySystem = {
  name: "goald",
  async open(given) {
    const memory = openRows(given.map((_row, place) => rowAt(given, place)));
    return {
      async ask(texts) {
        const query = { agent: "bench", texts, count: TEN, excludeSteps: new Set<number>() };
        const recalls = await memory.recall(query, new AbortController().signal);
        return renderPassages(fitRecalls(recalls, CONTEXT_TOKENS)).split("\n");
      },
      close: () => memory.close(),
    };
  },
};

function rowAt(given: readonly MemoryText[], place: number): MemoryRow {
  const { text, factKey } = given[place] as MemoryText;
  const row = toRow({ doc_id: "", text, ns: "bench" }, place);
  if (factKey === undefined) return row;
  const next = given.findIndex((other, later) => later > place && other.factKey === factKey);
  const closed = next < 0 ? {} : { closed: { by: `bench/${next + 1}`, step: next + 1 } };
  return { ...row, kind: "fact", importance: FACT_IMPORTANCE, factKey, ...closed };
}

export const fullText: MemorySystem = {
  name: "SQLite FTS5, porter",
  async open(rows) {
    const search = await fullTextSearch.open(rows.map(({ text }, place) => ({ doc_id: String(place), text, ns: "" })));
    return {
      ask: async (texts) => (await search.find(texts, TEN, new Set())).map((place) => rows[place]?.text ?? ""),
      close: async () => search.close?.(),
    };
  },
};
