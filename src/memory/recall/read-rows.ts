/**
 * read-rows.ts -- reads from the store what a recall shows, because main memory holds no texts: the found rows, the rows
 * around them, and the other rows of their series.
 */
import { toError } from "#core/errors.ts";
import { formOfSeries, isPast, isSeries, numbersIn } from "#core/memory.ts";
import type { MemoryRow, Recall, RecalledRow, TextRange } from "#core/ports/memory.ts";
import { keepNewest, rememberBy } from "#util/caches.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import type { OutageReporter } from "../vectors/server-embedder.ts";
import type { LexicalIndex } from "../words/word-index.ts";
import type { AgentRows } from "./agent-rows.ts";
import { type FoundRow, partsWithVectors, type SearchedMemory } from "./find-recalls.ts";
import type { QueryPart } from "./query-parts.ts";
import { hashText } from "./row-columns.ts";

/** Rows of a series that are read; the prompt has room for fewer. Longer texts are not compared. */
const MAX_SERIES_ROWS = 24;
const MAX_SERIES_CHARS = 900;

/** Leaves out rows that were forgotten or superseded since the search, and rows that cannot be read, which it reports. */
export async function readRecalls(
  found: readonly FoundRow[],
  parts: readonly QueryPart[],
  outage: OutageReporter,
): Promise<readonly Recall[]> {
  for (const rows of new Set(found.map(({ memory }) => memory.rows))) await rows.dropChangedTexts();
  const recalls: Recall[] = [];
  const weights = found[0] ? weighStems(partsWithVectors(parts), found[0].memory.rows.groups.lexical) : new Map();
  let problem: unknown;
  for (const row of found)
    try {
      const recall = await readRecall(row, parts, weights);
      if (recall) recalls.push(recall);
    } catch (error) {
      problem ??= error;
    }
  if (problem === undefined) outage.recovered();
  else outage.failed(`Memory leaves out rows that it cannot read: ${toError(problem).message}`);
  return recalls;
}

const readSlot = (slot: number, rows: AgentRows): Promise<RecalledRow | undefined> => rows.texts.read(rows.idAt(slot));

async function readRecall(
  { slot, row: found, score, memory: { rows, excluded } }: FoundRow,
  parts: readonly QueryPart[],
  weights: StemWeights,
): Promise<Recall | undefined> {
  const row = await readSlot(slot, rows);
  if (!row) return undefined;
  const focus = findFocus(row, parts, weights);
  const around: RecalledRow[] = [];
  for (const near of rows.neighbours.around(found, rows, excluded)) {
    const other = await readSlot(near, rows);
    if (other) around.push(other);
  }
  const series = row.text.length > MAX_SERIES_CHARS ? undefined : await readSeries(slot, row, rows, excluded);
  return {
    ...row,
    score,
    ...(focus ? { focus } : {}),
    ...(around.length > 0 ? { around } : {}),
    ...(series ? { series } : {}),
  };
}

/**
 * Returns the other rows of the row's series, newest first: same words in the same order, same kind, same source of words.
 * Facts with a subject and an attribute are left out: the list of numbers does not show which of them holds.
 */
async function readSeries(
  slot: number,
  row: RecalledRow,
  rows: AgentRows,
  excluded: SearchedMemory["excluded"],
): Promise<Recall["series"] | undefined> {
  if (numbersOf(row).length === 0 || rows.facts.has(slot)) return undefined;
  const { slots, others } = rows.groups.rowsLike(slot, MAX_SERIES_ROWS, excluded);
  const form = formOf(row);
  const found: RecalledRow[] = [];
  for (const near of slots) {
    const other = rows.facts.has(near) ? undefined : await readSlot(near, rows);
    if (!other || other.kind !== row.kind || other.trust !== row.trust || formOf(other) !== form) continue;
    found.push(other);
    // Further rows only add changing numbers, so that the first other row mostly tells that this is not a series.
    if (!isSeries([numbersOf(row), numbersOf(other)])) return undefined;
  }
  return found.length === 0 ? undefined : { rows: found, others };
}

const formOf = rememberBy(({ text }: RecalledRow) => hashText(formOfSeries(text)));
const numbersOf = rememberBy(({ text }: RecalledRow) => numbersIn(text));

/** Shorter texts have no focus. */
const MIN_FOCUS_CHARS = 200;
/** Only the beginning of a longer text is searched. */
const MAX_FOCUS_CHARS = 8_000;
/** Counts a thought less than the command and the result of its step, which a prompt shows instead. */
const THOUGHT_SHARE = 0.4;
/** Sentences, and values of JSON. A point in a name or a number ends none. */
const SENTENCE = /(?:[^.!?,\n。！？]|[.!?](?=[\p{L}\p{N}])|(?<!["'\]}]),)+[.!?,\n。！？]*\s*/gu;
/** These begin lines of a step's row that are not of its texts, such as the title and address of a page. */
const CONFIRMATION = /^(?:Done|Files|Page): /;
const LABEL = /^(?:Result \([^)]*\)|Thought): /;

/**
 * Returns the sentence of a long text that shares most words with the query, and is not one of it: those the prompt shows. Undefined when
 * none shares a word.
 */
export function findFocus(row: SpokenRow, parts: readonly QueryPart[], weights: StemWeights): TextRange | undefined {
  const { kind, text } = row;
  // The memory of a turn has more room.
  if (text.length <= MIN_FOCUS_CHARS || kind === "turn") return undefined;
  const thought = kind === "step" ? text.lastIndexOf("\nThought: ") : -1;
  let best = { at: 0, length: 0, score: 0 };
  for (const { at, length, words, stems } of sentencesOf(row)) {
    let shared = 0;
    for (const stem of stems) shared += weights.get(stem) ?? 0;
    const share = thought >= 0 && at > thought ? THOUGHT_SHARE : 1;
    const score = (share * shared) / Math.sqrt(stems.length + 4);
    if (score > best.score && !parts.some((part) => part.text.includes(words))) best = { at, length, score };
  }
  return best.score === 0 ? undefined : [best.at, best.at + best.length];
}

type SpokenRow = Pick<RecalledRow, "kind" | "text">;

/**
 * Returns the sentences of a row: their places in its text, their words without a label, and the distinct stems of these. Most rows
 * are recalled again at the next step.
 */
const sentencesOf = rememberBy(({ kind, text }: SpokenRow) => {
  const found = [];
  for (const { index, 0: sentence } of text.slice(0, MAX_FOCUS_CHARS).matchAll(SENTENCE)) {
    if (kind === "step" && CONFIRMATION.test(sentence)) continue;
    const words = kind === "step" ? sentence.replace(LABEL, "").trim() : sentence.trim();
    const stems = [...new Set(wordsOf(words).map(stemOf))];
    found.push({ at: index, length: sentence.length, words, stems });
  }
  return found;
});

type StemWeights = ReadonlyMap<string, number>;

/** Maps each stem that the query is searched by to its weight: that of its part times its rarity in the memory. */
export function weighStems(parts: readonly QueryPart[], memory: Pick<LexicalIndex, "weighStems">): StemWeights {
  const weights = new Map<string, number>();
  for (const { words, weight } of parts)
    for (const { stem, weight: rarity } of memory.weighStems(words))
      weights.set(stem, Math.max(weight * rarity, weights.get(stem) ?? 0));
  return weights;
}

/**
 * Rows that are kept besides those of this recall and the one before. Of a step's 30 to 40 rows two to seven are not among these. 256
 * rows take .2 ms less a step, and 3 MB of heap more with 20 agents of 600 steps.
 */
const MAX_ROWS = 128;
/** Main memory of a row without its text, and of a character of it. */
const ROW_BYTES = 500;
const CHAR_BYTES = 2;
/** Changed rows that are dropped one by one; after more of them all rows are dropped. */
const MAX_CHANGED = 64;

/**
 * Reads the rows that recalls show, and caches them with their texts: most are shown again at the next step. The cache
 * has no row that was forgotten or replaced before the last `dropChanged`.
 */
export class RowTexts {
  readonly #readLive: (id: string) => Promise<MemoryRow | undefined>;
  /** By id, the last used one last, with the number of the recall that used it. */
  readonly #rows = new Map<string, { readonly row: RecalledRow; readonly recall: number }>();
  #recall = 0;
  /** Number of calls of `drop`. */
  #drops = 0;

  /** `readLive` returns undefined for a row that may not be recalled any more. */
  constructor(readLive: (id: string) => Promise<MemoryRow | undefined>) {
    this.#readLive = readLive;
  }

  /** Estimated main memory. */
  get bytes(): number {
    return this.#rows.values().reduce((sum, { row }) => sum + ROW_BYTES + CHAR_BYTES * row.text.length, 0);
  }

  /** Returns undefined for a row that may not be recalled any more. */
  async read(id: string): Promise<RecalledRow | undefined> {
    const drops = this.#drops;
    const known = this.#rows.get(id)?.row;
    const row = known ?? (await this.#readLive(id).then((read) => read && toRecalledRow(read)));
    // A recall of another agent may have dropped this row while it was read.
    if (row && drops === this.#drops) this.#put(row);
    return row;
  }

  /** Call it for a row just read: its vector is made next, and it is recalled once the prompt shows its step no more. */
  keep(row: MemoryRow): void {
    const entry = { row: toRecalledRow(row), recall: this.#recall };
    keepNewest(this.#rows, row.id, entry, Math.max(MAX_ROWS, this.#rows.size));
  }

  #put(row: RecalledRow): void {
    this.#rows.delete(row.id);
    this.#rows.set(row.id, { row, recall: this.#recall });
    for (const [oldest, { recall }] of this.#rows) {
      if (this.#rows.size <= MAX_ROWS || recall >= this.#recall - 1) return;
      this.#rows.delete(oldest);
    }
  }

  /** Call it for each row that changed. */
  drop(id: string): void {
    this.#drops++;
    this.#rows.delete(id);
  }

  /** Begins a recall: drops the rows that changed. `readChanged` returns the oldest `limit` changes; when it fails, all rows are dropped. */
  async dropChanged(readChanged: (limit: number) => Promise<readonly Pick<MemoryRow, "id">[]>): Promise<void> {
    this.#recall++;
    const changed = await readChanged(MAX_CHANGED).catch(() => undefined);
    const isComplete = changed && changed.length < MAX_CHANGED;
    for (const id of isComplete ? changed.map((row) => row.id) : [...this.#rows.keys()]) this.drop(id);
  }
}

function toRecalledRow(row: MemoryRow): RecalledRow {
  const { id, seq, step, at, kind, trust, text, outside, closed } = row;
  return {
    id,
    seq,
    step,
    at,
    kind,
    trust,
    text,
    ...(outside ? { outside } : {}),
    ...(closed && isPast(row) ? { closed } : {}),
  };
}
