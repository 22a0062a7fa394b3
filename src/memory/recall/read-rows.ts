/**
 * read-rows.ts -- reads from the store what a recall shows, because main memory holds no texts: the found rows, the rows
 * around them, and the other rows of their series.
 */
import { toError } from "#core/errors.ts";
import { formOfSeries, isSeries, numbersIn } from "#core/memory.ts";
import type { Recall, RecalledRow, TextRange } from "#core/ports/memory.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import type { OutageReporter } from "../vectors/server-embedder.ts";
import { isStopWord } from "../words/vocabulary.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { FoundRow, SearchedMemory } from "./find-recalls.ts";
import type { QueryPart } from "./query-parts.ts";
import { hashText } from "./row-columns.ts";

/** Rows of a series that are read; the prompt has room for fewer. */
const MAX_SERIES_ROWS = 24;

/** Leaves out rows that were forgotten or superseded since the search, and rows that cannot be read, which it reports. */
export async function readRecalls(
  found: readonly FoundRow[],
  parts: readonly QueryPart[],
  outage: OutageReporter,
): Promise<readonly Recall[]> {
  for (const rows of new Set(found.map(({ memory }) => memory.rows))) await rows.dropChangedTexts();
  const recalls: Recall[] = [];
  let problem: unknown;
  for (const row of found)
    try {
      const recall = await readRecall(row, parts);
      if (recall) recalls.push(recall);
    } catch (error) {
      problem ??= error;
    }
  if (problem === undefined) outage.recovered();
  else outage.failed(`Memory leaves out rows that it cannot read: ${toError(problem).message}`);
  return recalls;
}

const readSlot = (slot: number, rows: AgentRows): Promise<RecalledRow | undefined> => rows.texts.read(rows.at(slot).id);

async function readRecall(
  { slot, score, memory: { rows, excluded } }: FoundRow,
  parts: readonly QueryPart[],
): Promise<Recall | undefined> {
  const row = await readSlot(slot, rows);
  if (!row) return undefined;
  const ranges = row.kind === "turn" ? undefined : excerptOf(row.text, parts);
  const readSlots = async (slots: readonly number[]): Promise<readonly RecalledRow[]> => {
    const found: RecalledRow[] = [];
    for (const near of slots) {
      const other = await readSlot(near, rows);
      if (other) found.push(other);
    }
    return found;
  };
  const { before, after } = rows.neighbours.around(slot, rows, excluded);
  const hasAround = before.length + after.length > 0;
  const series = ranges ? undefined : await readSeries(slot, row, rows, excluded);
  return {
    ...row,
    score,
    ...(ranges ? { ranges } : {}),
    ...(hasAround ? { around: { before: await readSlots(before), after: await readSlots(after) } } : {}),
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
  if (numbersIn(row.text).length === 0 || rows.facts.has(slot)) return undefined;
  const { slots, others } = rows.groups.rowsLike(slot, MAX_SERIES_ROWS, excluded);
  const form = replyFormOf(row);
  const found: RecalledRow[] = [];
  for (const near of slots) {
    const other = rows.facts.has(near) ? undefined : await readSlot(near, rows);
    if (!other || other.kind !== row.kind || other.trust !== row.trust || replyFormOf(other) !== form) continue;
    found.push(other);
    // Further rows only add changing numbers, so that the first other row mostly tells that this is not a series.
    if (!isSeries([row.text, other.text])) return undefined;
  }
  return found.length === 0 ? undefined : { rows: found, others };
}

/** Hashes of the forms of rows, which are read again as long as the rows are cached. */
const forms = new WeakMap<RecalledRow, number>();

function replyFormOf(row: RecalledRow): number {
  const known = forms.get(row);
  if (known !== undefined) return known;
  const form = hashText(formOfSeries(row.text));
  forms.set(row, form);
  return form;
}

/** Shorter texts are not cut. */
const MIN_CHARS = 900;
const BEGINNING_CHARS = 120;
const PASSAGE_CHARS = 600;
/** Only the beginning of a longer text is searched. */
const MAX_CHARS = 8_000;

/**
 * Returns undefined for a text that is short, or has no sentence that shares a word with the query.
 *
 * The prompt has room for about 200 tokens per recall. The beginning says what the memory is; the passage is the
 * sentence that shares most words with the query, with the text around it. The memory of a turn has more room and no excerpt.
 */
export function excerptOf(text: string, parts: readonly QueryPart[]): readonly TextRange[] | undefined {
  if (text.length <= MIN_CHARS) return undefined;
  const weights = stemWeights(parts);
  let best = { at: 0, length: 0, score: 0 };
  for (const { index, 0: sentence } of text.slice(0, MAX_CHARS).matchAll(/[^.!?\n。！？]+[.!?\n。！？]*\s*/g)) {
    const stems = new Set(wordsOf(sentence).map(stemOf));
    let shared = 0;
    for (const stem of stems) shared += weights.get(stem) ?? 0;
    const score = shared / Math.sqrt(stems.size + 4);
    if (score > best.score) best = { at: index, length: sentence.length, score };
  }
  if (best.score === 0) return undefined;
  const from = Math.max(0, best.at - Math.max(0, Math.floor((PASSAGE_CHARS - best.length) / 2)));
  const to = Math.min(text.length, from + PASSAGE_CHARS);
  if (from > BEGINNING_CHARS)
    return [
      [0, BEGINNING_CHARS],
      [from, to],
    ];
  return [[0, to]];
}

/** Maps each stem of the query to the highest weight of its parts. */
function stemWeights(parts: readonly QueryPart[]): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const { words, weight } of parts)
    for (const word of words) {
      const stem = stemOf(word);
      if (!isStopWord(word) && weight > (weights.get(stem) ?? 0)) weights.set(stem, weight);
    }
  return weights;
}
