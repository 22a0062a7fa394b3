/**
 * find-recalls.ts -- the recalls for one query among the rows of one agent.
 *
 * Shared words rank the rows. With an embedder that knows meanings, nearness ranks them too, and the two are
 * added up by places, as their scores do not compare. Nearness of spellings, which is what an offline
 * embedder has, is asked only for what words leave open: ranked beside them it makes the choice worse (0.74
 * against 0.77 of the wanted rows among the ten, in a trial on dialogues). What is still missing then
 * are the newest rows: ten are recalled while there are ten.
 */
import type { Recall, RecallQuery } from "#core/ports/recall.ts";
import type { Hit } from "#util/best-of.ts";
import type { AgentRows } from "./agent-rows.ts";
import type { AgentVectors } from "./agent-vectors.ts";
import { type Candidate, choose } from "./choose-recalls.ts";
import { standingOut } from "./merge-rankings.ts";
import type { QueryPart } from "./query-parts.ts";

export interface AgentMemory {
  readonly rows: AgentRows;
  readonly vectors: AgentVectors;
}

/** Hits of one text and candidates in all: at first, and where those are full of near-duplicates. */
const NEAR = { perText: 30, inAll: 30 };
const FAR = { perText: 100, inAll: 150 };
/** How far down a ranking the places go on to differ. */
const PLACE_OFFSET = 60;
/** What is last in both still counts as much as this. */
const PLAIN_SHARE = 0.05;
/** Of what is pinned, so many come whatever the question; an agent with more pins than this gets the newest. */
const MAX_PINNED = 3;
/** Of rows that nothing speaks for: importance and recency still order them. */
const NO_SCORE = 1e-6;
/** Slots of the n-th memory are numbered from n times this. */
const SLOTS_EACH = 2 ** 26;

/**
 * Best first, none of the excluded steps. The agent's own memory comes first in `memories`, then the others that it may read.
 * With `withVectors` nearness ranks beside words; without it `embed` is called to have the vectors made when words find
 * fewer than asked for. Rejects when an index cannot be searched.
 */
export async function findRecalls(
  memories: readonly AgentMemory[],
  query: RecallQuery,
  parts: readonly QueryPart[],
  { withVectors, embed }: { readonly withVectors: boolean; readonly embed?: () => Promise<void> },
): Promise<readonly Recall[]> {
  const own = memories[0] as AgentMemory;
  const { count } = query;
  // Most agents share nothing, and merging is not free.
  const filled = memories.filter((memory) => memory === own || memory.rows.size > 0);
  const readers = filled.map((memory, number): Reader => {
    const excluded = memory === own ? own.rows.slotsOf(query.excludeSteps) : NO_SLOTS;
    return { ...memory, first: number * SLOTS_EACH, excluded, beside: filled.filter((other) => other !== memory) };
  });
  const pinned = pinnedOf(readers).slice(0, Math.min(MAX_PINNED, count));
  const { rows } = own;
  for (const { perText, inAll } of [NEAR, FAR]) {
    const reach = Math.max(perText, 2 * count);
    const most = Math.max(inAll, 2 * count);
    const wordHits = inEach(readers, (reader) => searchWords(reader, parts, reach));
    // Places are those among all; where nothing more is looked for, the first are enough.
    let hits = standingOut(wordHits, parts, withVectors || perText === FAR.perText ? undefined : most);
    if (withVectors) hits = byPlaces(hits, standingOut(await searchVectors(readers, parts, reach), parts));
    const candidates = candidatesOf(readers, hits.slice(0, most));
    const choice = choose(candidates, count, rows.lastStep, { pinned });
    if (choice.distinct === count) return choice.recalls;
    if (hits.length >= reach && perText !== FAR.perText) continue;
    // Where all that is there was found already, nearness has nothing to add.
    const there = memories.reduce((sum, memory) => sum + memory.rows.voices.size, 0);
    const others = await findOthers(
      readers,
      query,
      parts,
      hits,
      hits.length < Math.min(count, there) ? embed : undefined,
    );
    return choose(candidates, count, rows.lastStep, { pinned, others: candidatesOf(readers, others) }).recalls;
  }
  return [];
}

/** A memory with what is left out of it, and the numbers that its slots have among those of others. */
interface Reader extends AgentMemory {
  readonly first: number;
  readonly excluded: ReadonlySet<number>;
  readonly beside: readonly AgentMemory[];
}
const NO_SLOTS: ReadonlySet<number> = new Set();

/** What is not `found` by words: the nearest by spelling, when `embed` makes that known, and behind them the newest. */
async function findOthers(
  readers: readonly Reader[],
  { count }: RecallQuery,
  parts: readonly QueryPart[],
  found: readonly Hit[],
  embed: (() => Promise<void>) | undefined,
): Promise<readonly Hit[]> {
  const known = new Set(found.map(({ slot }) => slot));
  const reach = Math.max(NEAR.perText, 2 * count) + known.size;
  await embed?.();
  const nearest = embed ? standingOut(await searchVectors(readers, parts, reach), parts) : [];
  const newest = readers.flatMap(({ rows, first, excluded }) =>
    Iterator.from(rows.newestSlots())
      .filter((slot) => !excluded.has(slot) && !known.has(first + slot))
      .take(Math.max(NEAR.inAll, 2 * count))
      .map((slot) => ({ slot: first + slot, score: NO_SCORE }))
      .toArray(),
  );
  return [...nearest.filter(({ slot }) => !known.has(slot)), ...newest];
}

/** Each row once. */
function candidatesOf(readers: readonly Reader[], hits: readonly Hit[]): Candidate[] {
  const seen = new Set<number>();
  return hits.flatMap(({ slot, score }) => {
    if (seen.has(slot)) return [];
    seen.add(slot);
    const { rows, first } = readers[Math.floor(slot / SLOTS_EACH)] as Reader;
    return [{ row: rows.at(slot - first), similarity: score, lastStep: rows.lastStep }];
  });
}

function pinnedOf(readers: readonly Reader[]): readonly Candidate[] {
  const slots = readers.flatMap(({ rows, first, excluded }) =>
    rows.pinnedSlots().flatMap((slot) => (excluded.has(slot) ? [] : [{ slot: first + slot, score: NO_SCORE }])),
  );
  return candidatesOf(readers, slots);
}

const searchWords = ({ rows, excluded, beside }: Reader, parts: readonly QueryPart[], reach: number) =>
  rows.voices.search(
    parts,
    reach,
    excluded,
    beside.map((other) => other.rows.voices),
  );

async function searchVectors(
  readers: readonly Reader[],
  parts: readonly QueryPart[],
  reach: number,
): Promise<(part: number) => readonly Hit[]> {
  const found = new Map<Reader, readonly (readonly Hit[])[]>();
  for (const reader of readers) {
    const hits: (readonly Hit[])[] = [];
    for (const { text } of parts) hits.push(await reader.vectors.nearest(text, reach, reader.excluded));
    found.set(reader, hits);
  }
  return inEach(readers, (reader) => (part) => found.get(reader)?.[part] ?? []);
}

/** What gives the hits of one text in all memories, best first, slots numbered through. */
function inEach(
  readers: readonly Reader[],
  search: (reader: Reader) => (part: number) => readonly Hit[],
): (part: number) => readonly Hit[] {
  const [only] = readers;
  if (readers.length === 1 && only) return search(only);
  const found = readers.map((reader) => ({ hitsOf: search(reader), first: reader.first }));
  return (part) =>
    found
      .flatMap(({ hitsOf, first }) => hitsOf(part).map(({ slot, score }) => ({ slot: first + slot, score })))
      .sort((a, b) => b.score - a.score || a.slot - b.slot);
}

/**
 * Reciprocal rank fusion (Cormack et al. 2009), spread over 0 to 1: the sums themselves lie so close together that the
 * smallest difference of words between two rows would outweigh them.
 */
function byPlaces(...rankings: readonly (readonly Hit[])[]): readonly Hit[] {
  const used = rankings.filter((ranking) => ranking.length > 0);
  if (used.length === 1) return used[0] as readonly Hit[];
  const sums = new Map<number, number>();
  for (const ranking of used)
    for (const [place, { slot }] of ranking.entries())
      sums.set(slot, (sums.get(slot) ?? 0) + (PLACE_OFFSET + 1) / (PLACE_OFFSET + 1 + place) / used.length);
  const scores = [...sums.values()];
  const lowest = Math.min(...scores) - PLAIN_SHARE;
  const span = Math.max(...scores) - lowest;
  const fused = Array.from(sums, ([slot, score]) => ({ slot, score: (score - lowest) / span }));
  return fused.sort((a, b) => b.score - a.score || b.slot - a.slot);
}
