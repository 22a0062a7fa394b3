/**
 * find-recalls.ts -- finds the recalls for one query among the rows of the memories that an agent may read.
 *
 * Shared words rank the rows. With a semantic embedder vectors rank them too, and the scores of both are fused for each part of
 * the query. Vectors of spellings are not used: ranked beside words they make the choice worse, 0.74 instead of 0.77 of the
 * relevant rows among the ten, measured on dialogues. The newest rows fill what is left, so that ten rows are recalled while
 * there are ten.
 */
import type { RecallQuery, ScoredSlot } from "#core/ports/memory.ts";
import type { WeighWord } from "../lexical/word-set.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import { type ChosenRow, chooseRecalls, type RecallCandidate, type RecallChoice } from "./choose-recalls.ts";
import { coverageOf, fuseScores, heavyParts, type NearRows } from "./fuse-scores.ts";
import { createIdleCheck } from "./idle-rows.ts";
import { mergeParts } from "./merge-rankings.ts";
import { addPastFacts, replacePastFacts } from "./past-facts.ts";
import type { QueryPart } from "./query-parts.ts";
import type { RecallableRow } from "./row-columns.ts";

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
  options: { readonly withVectors: boolean },
): Promise<readonly FoundRow[]> {
  const searched = searchedMemories(memories, query);
  const chosen = await findRows(searched, query, parts, options);
  return chosen.map((row) => {
    const memory = memoryOf(searched, row.slot);
    return { ...row, slot: row.slot - memory.firstSlot, memory };
  });
}

async function findRows(
  searched: readonly SearchedMemory[],
  query: RecallQuery,
  parts: readonly QueryPart[],
  { withVectors }: { readonly withVectors: boolean },
): Promise<readonly ChosenRow[]> {
  const { count } = query;
  const { lastStep } = (searched[0] as SearchedMemory).rows;
  const pinned = pinnedCandidates(searched).slice(0, Math.min(MAX_PINNED, count));
  const weigh = rarityIn(searched);
  const options = { pinned, weigh, isIdle: createIdleCheck(parts, weigh) };
  const placeOf = (slot: number) => memoryOf(searched, slot);
  const withPast = ({ recalls }: RecallChoice) => addPastFacts(recalls, count, placeOf);
  for (const depth of [SHALLOW, DEEP]) {
    const maxHits = Math.max(depth.hits, 2 * count);
    const maxCandidates = Math.max(depth.candidates, 2 * count);
    const wordHits = searchEach(searched, (memory) => searchWords(memory, parts, maxHits));
    const nearOf = withVectors ? await compareVectors(searched, parts, maxHits) : () => undefined;
    const searchPart = (at: number): readonly ScoredSlot[] => {
      const [words, near] = [wordHits(at), nearOf(at)];
      const wordsAt = (slot: number) => rowAt(searched, slot).words;
      return near ? fuseScores(words, near, coverageOf(parts[at] as QueryPart, words, wordsAt, weigh)) : words;
    };
    // The deep search needs the whole ranking.
    const found = mergeParts(searchPart, parts, depth === DEEP ? undefined : maxCandidates);
    const hits = replacePastFacts(found, placeOf);
    const candidates = candidatesOf(searched, hits.slice(0, maxCandidates));
    const choice = chooseRecalls(candidates, count, lastStep, options);
    if (choice.distinct === count) return withPast(choice);
    if (found.length >= maxHits && depth !== DEEP) continue;
    const known = new Set(hits.map(({ slot }) => slot));
    const others = replacePastFacts(findNewest(searched, query, found), placeOf);
    const fillers = candidatesOf(
      searched,
      others.filter(({ slot }) => !known.has(slot)),
    );
    return withPast(chooseRecalls(candidates, count, lastStep, { ...options, fillers }));
  }
  return [];
}

/** A memory with its excluded slots, and the first of the numbers that its slots have in merged rankings. */
export interface SearchedMemory extends AgentMemory {
  readonly firstSlot: number;
  readonly excluded: ReadonlySet<number>;
  readonly others: readonly AgentMemory[];
  /** Rows by slot. The words of a row are collected once per recall. */
  readonly knownRows: Map<number, RecallableRow>;
}
const NO_SLOTS: ReadonlySet<number> = new Set();

/** Weighs a word by its inverse document frequency in all memories together. */
function rarityIn(memories: readonly AgentMemory[]): WeighWord {
  const rows = memories.reduce((sum, memory) => sum + memory.rows.size, 0);
  const weights = new Map<number, number>();
  return (hash) => {
    const known = weights.get(hash);
    if (known !== undefined) return known;
    let withWord = 0;
    for (const memory of memories) withWord += memory.rows.groups.rowsWithWord(hash);
    const weight = Math.log(1 + rows / Math.max(1, withWord));
    weights.set(hash, weight);
    return weight;
  };
}

/** Leaves out empty memories of others: most agents share nothing, and merging costs time. */
function searchedMemories(memories: readonly AgentMemory[], { excludeSteps }: RecallQuery): readonly SearchedMemory[] {
  const own = memories[0] as AgentMemory;
  const filled = memories.filter((memory) => memory === own || memory.rows.size > 0);
  return filled.map((memory, number) => ({
    ...memory,
    firstSlot: number * SLOTS_PER_MEMORY,
    excluded: memory === own ? own.rows.slotsOf(excludeSteps) : NO_SLOTS,
    others: filled.filter((other) => other !== memory),
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

/** Returns each row once, with its first score. */
function candidatesOf(memories: readonly SearchedMemory[], hits: readonly ScoredSlot[]): RecallCandidate[] {
  const seen = new Set<number>();
  return hits.flatMap(({ slot, score }) => {
    if (seen.has(slot)) return [];
    seen.add(slot);
    return [{ slot, row: rowAt(memories, slot), similarity: score, lastStep: memoryOf(memories, slot).rows.lastStep }];
  });
}

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

const searchWords = ({ rows, excluded, others }: SearchedMemory, parts: readonly QueryPart[], maxHits: number) =>
  rows.groups.search(
    parts,
    maxHits,
    excluded,
    others.map((other) => other.rows.groups),
  );

/** Returns the rows near to each part, less the mean of the largest memory; undefined without vectors. */
async function compareVectors(
  memories: readonly SearchedMemory[],
  parts: readonly QueryPart[],
  maxHits: number,
): Promise<(part: number) => NearRows | undefined> {
  const largest = memories.reduce((most, memory) => (memory.vectors.size > most.vectors.size ? memory : most));
  const mean = largest.vectors.mean(largest.rows);
  const near = new Map<number, NearRows>();
  const heavy = new Set(heavyParts(parts));
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

/** Returns a function that merges the hits of one part from all memories, best first. */
function searchEach(
  memories: readonly SearchedMemory[],
  search: (memory: SearchedMemory) => (part: number) => readonly ScoredSlot[],
): (part: number) => readonly ScoredSlot[] {
  const [only] = memories;
  if (memories.length === 1 && only) return search(only);
  const searches = memories.map((memory) => ({ searchPart: search(memory), firstSlot: memory.firstSlot }));
  return (part) =>
    searches
      .flatMap(({ searchPart, firstSlot }) =>
        searchPart(part).map(({ slot, score }) => ({ slot: firstSlot + slot, score })),
      )
      .sort((a, b) => b.score - a.score || a.slot - b.slot);
}
