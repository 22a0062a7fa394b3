/**
 * read-rows.ts -- reads from the store what a recall shows, because main memory holds no texts: the found rows, the rows
 * around them, and the other rows of their series.
 */
import { toError } from "#core/errors.ts";
import { formOfSeries, isSeries, numbersIn } from "#core/memory.ts";
import type { Recall, RecalledRow, TextRange } from "#core/ports/memory.ts";
import { keepNewest, rememberBy } from "#util/caches.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import type { OutageReporter } from "../vectors/server-embedder.ts";
import type { AgentRows } from "./agent-rows.ts";
import { type FoundRow, partsWithVectors, type SearchedMemory } from "./find-recalls.ts";
import type { QueryPart } from "./query-parts.ts";
import { hashText } from "./row-columns.ts";
import type { SeriesGroups } from "./series-groups.ts";

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
  const weights = found[0] ? weighStems(partsWithVectors(parts), found[0].memory.rows.groups) : new Map();
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
export function findFocus(
  { kind, text }: Pick<RecalledRow, "kind" | "text">,
  parts: readonly QueryPart[],
  weights: StemWeights,
): TextRange | undefined {
  // The memory of a turn has more room.
  if (text.length <= MIN_FOCUS_CHARS || kind === "turn") return undefined;
  const thought = kind === "step" ? text.lastIndexOf("\nThought: ") : -1;
  let best = { at: 0, length: 0, score: 0 };
  for (const { at, length, words, stems } of readSentences(text, kind === "step")) {
    let shared = 0;
    for (const stem of stems) shared += weights.get(stem) ?? 0;
    const share = thought >= 0 && at > thought ? THOUGHT_SHARE : 1;
    const score = (share * shared) / Math.sqrt(stems.length + 4);
    if (score > best.score && !isShown(words, parts)) best = { at, length, score };
  }
  return best.score === 0 ? undefined : [best.at, best.at + best.length];
}

/** A sentence of a text: its place there, its words without a label, and their distinct stems. */
interface Sentence {
  readonly at: number;
  readonly length: number;
  readonly words: string;
  readonly stems: readonly string[];
}

/** Most rows are recalled again at the next step. Steps and other rows are apart, because only steps have labels. */
const sentencesOfSteps = new Map<string, readonly Sentence[]>();
const sentencesOfOthers = new Map<string, readonly Sentence[]>();
const MAX_CACHED_TEXTS = 64;

function readSentences(text: string, isOfStep: boolean): readonly Sentence[] {
  const cached = isOfStep ? sentencesOfSteps : sentencesOfOthers;
  const sentences = cached.get(text) ?? splitSentences(text, isOfStep);
  keepNewest(cached, text, sentences, MAX_CACHED_TEXTS);
  return sentences;
}

function splitSentences(text: string, isOfStep: boolean): readonly Sentence[] {
  const found: Sentence[] = [];
  for (const { index, 0: sentence } of text.slice(0, MAX_FOCUS_CHARS).matchAll(SENTENCE)) {
    if (isOfStep && CONFIRMATION.test(sentence)) continue;
    const words = isOfStep ? sentence.replace(LABEL, "").trim() : sentence.trim();
    const stems = [...new Set(wordsOf(words).map(stemOf))];
    found.push({ at: index, length: sentence.length, words, stems });
  }
  return found;
}

const isShown = (sentence: string, parts: readonly QueryPart[]): boolean =>
  parts.some(({ text }) => text.includes(sentence));

type StemWeights = ReadonlyMap<string, number>;

/** Maps each stem that the query is searched by to its weight: that of its part times its rarity in the memory. */
export function weighStems(parts: readonly QueryPart[], memory: Pick<SeriesGroups, "weighStems">): StemWeights {
  const weights = new Map<string, number>();
  for (const { words, weight } of parts)
    for (const { stem, weight: rarity } of memory.weighStems(words))
      weights.set(stem, Math.max(weight * rarity, weights.get(stem) ?? 0));
  return weights;
}
