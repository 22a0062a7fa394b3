/**
 * find.ts -- the recalls for one query among the rows of one agent.
 *
 * Shared words rank the rows. With an embedder that knows meanings, nearness ranks them too, and the two are
 * added up by places, as their scores do not compare. Nearness of spellings, which is what an offline
 * embedder has, is asked only for what words leave open: ranked beside them it makes the choice worse (0.74
 * against 0.77 of the wanted rows among the ten, in a trial on dialogues). What is still missing then
 * are the newest rows: ten are recalled while there are ten.
 */
import type { Recall, RecallQuery } from "#core/ports.ts";
import { type Hit, standingOut } from "./merge.ts";
import type { QueryPart } from "./query.ts";
import { type Candidate, choose } from "./rank.ts";
import type { AgentRows } from "./rows.ts";
import type { AgentVectors } from "./vectors.ts";

export interface AgentMemory {
  readonly rows: AgentRows;
  readonly vectors: AgentVectors;
}

/** Hits of one text and candidates in all: at first, and where those are full of near-duplicates. */
const NEAR = { perText: 30, inAll: 50 };
const FAR = { perText: 100, inAll: 150 };
/** How far down a ranking the places go on to differ. */
const PLACE_OFFSET = 60;

/**
 * Best first, none of the excluded steps. With `withVectors` nearness ranks beside words; without it `embed` is called to have
 * the vectors made when words find fewer than asked for. Rejects when the index cannot be searched.
 */
export async function findRecalls(
  { rows, vectors }: AgentMemory,
  query: RecallQuery,
  parts: readonly QueryPart[],
  { withVectors, embed }: { readonly withVectors: boolean; readonly embed?: () => Promise<void> },
): Promise<readonly Recall[]> {
  const excluded = rows.slotsOf(query.excludeSteps);
  const { count } = query;
  const near = withVectors ? parts.filter(({ text }) => vectors.knows(text)) : [];
  let hits: readonly Hit[] = [];
  for (const { perText, inAll } of rows.repetitive ? [FAR] : [NEAR, FAR]) {
    const reach = Math.max(perText, 2 * count);
    hits = standingOut(rows.voices.search(parts, reach, excluded), parts);
    if (near.length > 0) hits = byPlaces(hits, standingOut(await searchVectors(vectors, near, reach, excluded), near));
    const candidates = candidatesOf(rows, hits.slice(0, Math.max(inAll, 2 * count)));
    const choice = choose(candidates, count, rows.lastStep);
    rows.repetitive = choice.distinct < count && hits.length >= reach;
    if (choice.distinct === count) return choice.recalls;
    if (rows.repetitive && perText !== FAR.perText) continue;
    // Where all that is there was found already, nearness has nothing to add.
    const isShort = hits.length < Math.min(count, rows.voices.size);
    const others = await findOthers({ rows, vectors }, query, parts, hits, isShort ? embed : undefined);
    return choose(candidates, count, rows.lastStep, candidatesOf(rows, others)).recalls;
  }
  return [];
}

/** What is not `found` by words: the nearest by spelling, when `embed` makes that known, and behind them the newest. */
async function findOthers(
  { rows, vectors }: AgentMemory,
  { excludeSteps, count }: RecallQuery,
  parts: readonly QueryPart[],
  found: readonly Hit[],
  embed: (() => Promise<void>) | undefined,
): Promise<readonly Hit[]> {
  const excluded = rows.slotsOf(excludeSteps);
  for (const { slot } of found) excluded.add(slot);
  await embed?.();
  const near = embed ? parts.filter(({ text }) => vectors.knows(text)) : [];
  const reach = Math.max(NEAR.perText, 2 * count);
  const nearest = standingOut(await searchVectors(vectors, near, reach, excluded), near);
  const newest = Iterator.from(rows.newestSlots())
    .filter((slot) => !excluded.has(slot))
    .take(Math.max(NEAR.inAll, 2 * count))
    .map((slot) => ({ slot, score: NO_SCORE }));
  return [...nearest, ...newest];
}

/** Of rows that nothing speaks for: importance and recency still order them. */
const NO_SCORE = 1e-6;

/** Each row once. */
function candidatesOf(rows: AgentRows, hits: readonly Hit[]): Candidate[] {
  const seen = new Set<number>();
  return hits.flatMap(({ slot, score }) => {
    if (seen.has(slot)) return [];
    seen.add(slot);
    return [{ row: rows.at(slot), similarity: score }];
  });
}

async function searchVectors(
  vectors: AgentVectors,
  parts: readonly QueryPart[],
  reach: number,
  excluded: ReadonlySet<number>,
): Promise<readonly (readonly Hit[])[]> {
  const hits: (readonly Hit[])[] = [];
  for (const { text } of parts) hits.push(await vectors.nearest(text, reach, excluded));
  return hits;
}

/** Reciprocal rank fusion (Cormack et al. 2009): 1 for what is first in both. */
function byPlaces(...rankings: readonly (readonly Hit[])[]): readonly Hit[] {
  const sums = new Map<number, number>();
  for (const ranking of rankings)
    for (const [place, { slot }] of ranking.entries())
      sums.set(slot, (sums.get(slot) ?? 0) + (PLACE_OFFSET + 1) / (PLACE_OFFSET + 1 + place) / rankings.length);
  return [...sums].map(([slot, score]) => ({ slot, score })).sort((a, b) => b.score - a.score || b.slot - a.slot);
}
