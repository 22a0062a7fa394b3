/**
 * find-recalls.ts -- finds the recalls for one query among the rows of the memories that an agent may read.
 *
 * Shared words rank the rows. With a semantic embedder vectors rank them too, and the scores of both are fused for each
 * part of the query. Vectors of spellings are not used: ranked beside words they make the choice worse, 0.74 instead of
 * 0.77 of the relevant rows among the ten, measured on dialogues. The newest rows fill what is left, so that ten rows
 * are recalled while there are ten.
 */
import type { RecallQuery, ScoredSlot } from "#core/ports/memory.ts";
import { BestOf } from "#util/best-of.ts";
import { cacheByKey } from "#util/caches.ts";
import { type WeighWord, type WordSet, weighShared, weighWords } from "../words/vocabulary.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import {
  type ChosenRow,
  chooseRecalls,
  createIdleCheck,
  type RecallCandidate,
  type RecallChoice,
} from "./choose-recalls.ts";
import type { QueryPart } from "./query-parts.ts";
import type { RecallableRow } from "./row-columns.ts";
import type { SeriesGroups } from "./series-groups.ts";

export interface AgentMemory {
  readonly rows: AgentRows;
  readonly vectors: AgentVectors;
}

/** Limits of the hits per part and of the candidates. The deep ones apply when the first are full of near-duplicates. */
const SHALLOW = { hits: 30, candidates: 30 };
const DEEP = { hits: 100, candidates: 150 };
/** Pinned rows that are recalled for every query; of more, the newest. */
const MAX_PINNED = 3;
/** Score of a row that no search found, so that importance and recency still order it. */
const UNFOUND_SCORE = 1e-6;
/** The slots of the n-th memory start at n times this. */
const SLOTS_PER_MEMORY = 2 ** 26;

/** A row to recall, with its slot in the memory that it is from. Scores never rise from one row to the next. */
export interface FoundRow extends ChosenRow {
  readonly memory: SearchedMemory;
}

/**
 * Returns the rows to recall, best first, without excluded steps. `memories` starts with the agent's own. With `withVectors`
 * vectors rank beside words. Rejects when an index cannot be searched.
 */
export async function findRecalls(
  memories: readonly AgentMemory[],
  query: RecallQuery,
  parts: readonly QueryPart[],
  { withVectors }: { readonly withVectors: boolean },
): Promise<readonly FoundRow[]> {
  const searched = searchedMemories(memories, query);
  const { count } = query;
  const pinned = pinnedCandidates(searched).slice(0, Math.min(MAX_PINNED, count));
  const weigh = rarityIn(searched);
  const options = { pinned, weigh, isIdle: createIdleCheck(parts, weigh) };
  const withPast = ({ recalls }: RecallChoice): readonly FoundRow[] =>
    addPastFacts(recalls, count, searched).map((row) => {
      const memory = memoryOf(searched, row.slot);
      return { ...row, slot: row.slot - memory.firstSlot, memory };
    });
  for (const depth of [SHALLOW, DEEP]) {
    const maxHits = Math.max(depth.hits, 2 * count);
    const maxCandidates = Math.max(depth.candidates, 2 * count);
    const wordHits = searchWords(searched, parts, maxHits);
    const nearOf = withVectors ? await compareVectors(searched, parts, maxHits) : () => undefined;
    const searchPart = (at: number): readonly ScoredSlot[] => {
      const [words, near] = [wordHits(at), nearOf(at)];
      const wordsAt = (slot: number) => rowAt(searched, slot).words;
      return near ? fuseScores(words, near, coverageOf(parts[at] as QueryPart, words, wordsAt, weigh)) : words;
    };
    // The deep search needs the whole ranking.
    const found = mergeParts(searchPart, parts, depth === DEEP ? undefined : maxCandidates);
    const hits = replacePastFacts(found, searched);
    const candidates = candidatesOf(searched, hits.slice(0, maxCandidates));
    const choice = chooseRecalls(candidates, count, options);
    if (choice.distinct === count) return withPast(choice);
    if (found.length >= maxHits && depth !== DEEP) continue;
    const known = new Set(hits.map(({ slot }) => slot));
    const others = replacePastFacts(findNewest(searched, query, found), searched);
    const unknown = others.filter(({ slot }) => !known.has(slot));
    const fillers = candidatesOf(searched, unknown);
    return withPast(chooseRecalls(candidates, count, { ...options, fillers }));
  }
  return [];
}

/** A memory with its excluded slots, and the first of the numbers that its slots have in merged rankings. */
export interface SearchedMemory extends AgentMemory {
  readonly firstSlot: number;
  readonly excluded: ReadonlySet<number>;
  readonly others: readonly SeriesGroups[];
  /** Rows by slot. The words of a row are collected once per recall. */
  readonly knownRows: Map<number, RecallableRow>;
}
const NO_SLOTS: ReadonlySet<number> = new Set();

/** Weighs a word by its inverse document frequency in all memories together. */
function rarityIn(memories: readonly AgentMemory[]): WeighWord {
  const rows = memories.reduce((sum, memory) => sum + memory.rows.size, 0);
  return cacheByKey((hash: number) => {
    let withWord = 0;
    for (const memory of memories) withWord += memory.rows.groups.rowsWithWord(hash);
    return Math.log(1 + rows / Math.max(1, withWord));
  }, Number.POSITIVE_INFINITY);
}

/** Leaves out empty memories of others: most agents share nothing, and merging costs time. */
function searchedMemories(memories: readonly AgentMemory[], query: RecallQuery): readonly SearchedMemory[] {
  const own = memories[0] as AgentMemory;
  const filled = memories.filter((memory) => memory === own || memory.rows.size > 0);
  return filled.map((memory, number) => ({
    ...memory,
    firstSlot: number * SLOTS_PER_MEMORY,
    excluded: memory === own ? own.rows.slotsLeftOut(query) : NO_SLOTS,
    others: filled.filter((other) => other !== memory).map(({ rows }) => rows.groups),
    knownRows: new Map(),
  }));
}

/** Returns the newest rows that were not found. */
function findNewest(
  memories: readonly SearchedMemory[],
  { count }: RecallQuery,
  found: readonly ScoredSlot[],
): readonly ScoredSlot[] {
  const known = new Set(found.map(({ slot }) => slot));
  return memories.flatMap(({ rows, firstSlot, excluded }) =>
    Iterator.from(rows.newestSlots())
      .filter((slot) => !excluded.has(slot) && !known.has(firstSlot + slot))
      .take(Math.max(SHALLOW.candidates, 2 * count))
      .map((slot) => ({ slot: firstSlot + slot, score: UNFOUND_SCORE }))
      .toArray(),
  );
}

/** `hits` have each slot once. */
const candidatesOf = (memories: readonly SearchedMemory[], hits: readonly ScoredSlot[]): RecallCandidate[] =>
  hits.map(({ slot, score }) => {
    return { slot, row: rowAt(memories, slot), similarity: score, lastStep: memoryOf(memories, slot).rows.lastStep };
  });

const memoryOf = (memories: readonly SearchedMemory[], slot: number): SearchedMemory =>
  memories[Math.floor(slot / SLOTS_PER_MEMORY)] as SearchedMemory;

function rowAt(memories: readonly SearchedMemory[], slot: number): RecallableRow {
  const { rows, firstSlot, knownRows } = memoryOf(memories, slot);
  const known = knownRows.get(slot);
  if (known) return known;
  const row = rows.at(slot - firstSlot);
  knownRows.set(slot, row);
  return row;
}

function pinnedCandidates(memories: readonly SearchedMemory[]): readonly RecallCandidate[] {
  const slots = memories.flatMap(({ rows, firstSlot, excluded }) =>
    rows
      .pinnedSlots()
      .flatMap((slot) => (excluded.has(slot) ? [] : [{ slot: firstSlot + slot, score: UNFOUND_SCORE }])),
  );
  return candidatesOf(memories, slots);
}

/** Returns the rows near to each part, less the mean of the largest memory; undefined without vectors. */
async function compareVectors(
  memories: readonly SearchedMemory[],
  parts: readonly QueryPart[],
  maxHits: number,
): Promise<(part: number) => NearRows | undefined> {
  const largest = memories.reduce((most, memory) => (memory.vectors.size > most.vectors.size ? memory : most));
  const mean = largest.vectors.mean(largest.rows);
  const near = new Map<number, NearRows>();
  const heavy = new Set(partsWithVectors(parts));
  const compare = async (at: number, part: QueryPart): Promise<void> => {
    if (!mean || !heavy.has(part)) return;
    const found = new Map<SearchedMemory, NearRows>();
    for (const memory of memories) {
      const rows = await memory.vectors.findNear(part.text, maxHits, memory.excluded, mean);
      if (rows) found.set(memory, rows);
    }
    if (found.size === 0) return;
    near.set(at, {
      slots: [...found].flatMap(([{ firstSlot, rows }, { slots }]) =>
        rows.groups.firstOfEach(slots).map((slot) => firstSlot + slot),
      ),
      closenessOf: (slot) => {
        const memory = memoryOf(memories, slot);
        return found.get(memory)?.closenessOf(slot - memory.firstSlot) ?? 0;
      },
    });
  };
  await Promise.all(parts.map((part, at) => compare(at, part)));
  return (part) => near.get(part);
}

/** Returns a function that merges the rows of all memories that share words with one part, best first. */
function searchWords(memories: readonly SearchedMemory[], parts: readonly QueryPart[], maxHits: number) {
  const searches = memories.map(({ rows, firstSlot, excluded, others }) => {
    return { searchPart: rows.groups.search(parts, maxHits, excluded, others), firstSlot };
  });
  const [only] = searches;
  if (searches.length === 1 && only) return only.searchPart;
  return (part: number): readonly ScoredSlot[] =>
    searches
      .flatMap(({ searchPart, firstSlot }) =>
        searchPart(part).map(({ slot, score }) => ({ slot: firstSlot + slot, score })),
      )
      .sort((a, b) => b.score - a.score || a.slot - b.slot);
}

/** Weight of the plain score beside the normalised one. */
const PLAIN_SCORE_WEIGHT = 0.1;
/** Smallest range of scores to normalise by, so that a part without a clear match counts less. */
const MIN_RANGE = 0.05;

/**
 * Merges the hits of all parts of one query. The scores of each part are normalised by their range (best 1, worst 0)
 * and weighted; a row gets its highest one. Plain scores do not compare between parts: one report is close to a hundred
 * other reports, while a question is only somewhat close to its answer. Best first; of equals the newer row first.
 *
 * With `limit`, returns only that many. A row scores at most the weight of its part, so once `limit` rows score above
 * the heaviest part left, the remaining parts are not searched (Fagin's threshold algorithm, 2001).
 */
export function mergeParts(
  searchPart: (part: number) => readonly ScoredSlot[],
  parts: readonly QueryPart[],
  limit = Number.POSITIVE_INFINITY,
): readonly ScoredSlot[] {
  const slots: number[] = [];
  // A separate array, because a map with fractional values is slow.
  const scores: number[] = [];
  const positions = new Map<number, number>();
  const heaviestFirst = parts.map(({ weight }, part) => ({ weight, part })).sort((a, b) => b.weight - a.weight);
  for (const { weight, part } of heaviestFirst) {
    if (slots.length >= limit && countAbove(scores, weight) >= limit) break;
    const hits = searchPart(part);
    const [best, worst] = [hits[0]?.score ?? 0, hits.at(-1)?.score ?? 0];
    const factor = weight / Math.max(MIN_RANGE, best - worst + PLAIN_SCORE_WEIGHT * best);
    for (const { slot, score } of hits) {
      // The factor is rounded: the best row would score above the weight by its last bit.
      const normalised = Math.min(weight, factor * (score - worst + PLAIN_SCORE_WEIGHT * score));
      const position = positions.get(slot);
      if (position === undefined) {
        positions.set(slot, slots.push(slot) - 1);
        scores.push(normalised);
      } else if (normalised > (scores[position] as number)) scores[position] = normalised;
    }
  }
  const ranking = new BestOf(Math.min(limit, slots.length));
  for (let at = 0; at < slots.length; at++) ranking.offer(scores[at] as number, slots[at] as number);
  return ranking.take();
}

/** Counts without a copy of the scores, because each part of a recall asks. */
function countAbove(scores: readonly number[], threshold: number): number {
  let count = 0;
  for (const score of scores) if (score > threshold) count++;
  return count;
}

const VECTOR_WEIGHT = 0.3;
/** Coverage from which the words count fully, and the share of them that always counts. */
const FULL_COVERAGE = 0.6;
const LEAST_COVERAGE = 0.3;
const COVERING_ROWS = 5;
/** Parts of at least this share of the highest weight are compared by vectors. Lighter ones gain nothing by it. */
const VECTOR_PART_SHARE = 0.7;

/** The parts that vectors are compared with. Only their texts are embedded. */
export function partsWithVectors(parts: readonly QueryPart[]): readonly QueryPart[] {
  const most = Math.max(...parts.map(({ weight }) => weight));
  return parts.filter(({ weight }) => weight >= VECTOR_PART_SHARE * most);
}

/** The rows near to one part: their slots, and the closeness of any slot. */
export interface NearRows {
  readonly slots: readonly number[];
  closenessOf(slot: number): number;
}

/**
 * Fuses the hits of words and of vectors for one part of a query into one ranking, by their scores. Returns all hits of
 * words and all near rows, best first, of equals the newer one first. The best has the score 1.
 *
 * score = 0.7 x coverage x words + 0.3 x closeness. The words' scores are scaled to their range, best 1 and last 0, as
 * in the convex combination of Bruch, Gai and Ingber (2023), which beats reciprocal rank fusion; closeness is twice the
 * cosine after the mean of the agent's rows was subtracted (agent-vectors.ts). Coverage is the share of the query's
 * words, weighed by rarity, that one of the best rows holds: a question in other words shares little with any row, and
 * its best row by words is chance. The weights were chosen on the dev half of test/data/memory.
 *
 * Words and vectors are fused part by part, so that a row which is near one text and shares words with another does not
 * outrank the answer of the question.
 */
export function fuseScores(words: readonly ScoredSlot[], near: NearRows, coverage: number): readonly ScoredSlot[] {
  const [best, last] = [words[0]?.score ?? 0, words.at(-1)?.score ?? 0];
  const range = best - last + PLAIN_SCORE_WEIGHT * best;
  const wordWeight = (1 - VECTOR_WEIGHT) * Math.max(LEAST_COVERAGE, Math.min(1, coverage / FULL_COVERAGE));
  const fused: { slot: number; score: number }[] = [];
  const known = new Set<number>();
  const fuse = (slot: number, score: number): void => {
    known.add(slot);
    fused.push({ slot, score: wordWeight * score + VECTOR_WEIGHT * near.closenessOf(slot) });
  };
  for (const { slot, score } of words) fuse(slot, range > 0 ? (score - last + PLAIN_SCORE_WEIGHT * score) / range : 0);
  for (const slot of near.slots) if (!known.has(slot)) fuse(slot, 0);
  const highest = fused.reduce((most, { score }) => Math.max(most, score), 0);
  for (const hit of fused) hit.score = highest > 0 ? hit.score / highest : 0;
  return fused.sort((a, b) => b.score - a.score || b.slot - a.slot);
}

/** Returns the largest share of the part's words that one of the best hits holds, weighed by rarity; 0 without words. */
function coverageOf(
  { topics }: QueryPart,
  hits: readonly ScoredSlot[],
  wordsAt: (slot: number) => WordSet,
  weigh: WeighWord,
): number {
  const all = weighWords({ hashes: topics }, weigh);
  if (all.weight === 0) return 0;
  const held = hits.slice(0, COVERING_ROWS).map(({ slot }) => weighShared(all, wordsAt(slot), weigh));
  return Math.max(0, ...held) / all.weight;
}

/** Past facts among one choice of recalls. More would take the place of other memories. */
const MAX_PAST = 3;

/**
 * Returns the hits with the facts that hold in place of past ones, each slot once with its best score. A question often
 * has more words of the old note than of the new one. So a past fact that was found counts as found for the fact that
 * holds, and never takes its place. It is a recall of its own only when the fact that holds is not one: the prompt
 * shows that step already, or the row was forgotten.
 */
function replacePastFacts(hits: readonly ScoredSlot[], memories: readonly SearchedMemory[]) {
  const scores = new Map<number, number>();
  let isChanged = false;
  for (const { slot, score } of hits) {
    const { rows, firstSlot, excluded } = memoryOf(memories, slot);
    const holder = rows.facts.holderOf(slot - firstSlot);
    const held = excluded.has(holder) ? slot : firstSlot + holder;
    isChanged ||= held !== slot;
    if (!scores.has(held)) scores.set(held, score);
  }
  return isChanged ? [...scores].map(([slot, score]) => ({ slot, score })) : hits;
}

/** Returns at most `count` recalls: behind each of the best facts the one that was true before. */
function addPastFacts(recalls: readonly ChosenRow[], count: number, memories: readonly SearchedMemory[]) {
  let left = MAX_PAST;
  const shown = new Set(recalls.map(({ slot }) => slot));
  const all = recalls.flatMap((recall): readonly ChosenRow[] => {
    if (left === 0 || recall.row.kind !== "fact") return [recall];
    const { rows, firstSlot, excluded } = memoryOf(memories, recall.slot);
    const past = rows.facts.pastOf(recall.slot - firstSlot);
    if (past === undefined || excluded.has(past) || shown.has(firstSlot + past)) return [recall];
    left -= 1;
    return [recall, { slot: firstSlot + past, row: rows.at(past), score: recall.score }];
  });
  return all.slice(0, count);
}
