/**
 * find.ts -- the recalls for one query among the rows of one agent.
 *
 * Rows in the index are found by nearness. Rows that are not in it, because their vectors are still to be
 * made, fill what is left, by shared words; without a vector of the query all are ranked that way.
 */
import type { Recall, RecallQuery } from "#core/ports.ts";
import { BestOf } from "./best-of.ts";
import { queryWords, weightOf } from "./query.ts";
import { byWords, choose } from "./rank.ts";
import type { AgentRows } from "./rows.ts";
import type { AgentVectors, Hit } from "./vectors.ts";

export interface AgentMemory {
  readonly rows: AgentRows;
  readonly vectors: AgentVectors;
}

/** Candidates to choose from: at first, and where those are full of near-duplicates. */
const NEAR = { perText: 30, inAll: 50 };
const FAR = { perText: 100, inAll: 150 };
/** How much of the similarity itself counts beside how far it stands out. */
const PLAIN_SHARE = 0.1;
/** A text that nothing stands out for, or is near to at all, does not count as much as another. */
const LEAST_SPAN = 0.05;
/** Rows that are ranked by words when there are no vectors, newest first. */
const MAX_ROWS_BY_WORDS = 500;

/** At most `query.count`, best first, none of the excluded steps. Rejects when the index cannot be searched. */
export async function findNear(
  memory: AgentMemory,
  query: RecallQuery,
  texts: readonly string[],
): Promise<readonly Recall[]> {
  const { rows, vectors } = memory;
  const excluded = rows.slotsOf(query.excludeSteps);
  if (!texts.some((text) => vectors.knows(text))) return findAllByWords(memory, query, texts);
  const near = await findByVectors(memory, texts, query.count, excluded);
  const room = query.count - near.length;
  if (room <= 0) return near;
  const lowest = near.at(-1)?.score ?? 1;
  const rest = findByWords(rows, vectors.missingSlots(), excluded, texts, room);
  return [...near, ...rest.map((recall) => ({ ...recall, score: Math.min(recall.score, lowest) }))];
}

/** The same without any vector, from the newest rows. */
export function findAllByWords({ rows }: AgentMemory, query: RecallQuery, texts: readonly string[]): readonly Recall[] {
  return findByWords(rows, rows.newestSlots(), rows.slotsOf(query.excludeSteps), texts, query.count);
}

async function findByVectors(
  { rows, vectors }: AgentMemory,
  texts: readonly string[],
  count: number,
  excluded: ReadonlySet<number>,
): Promise<readonly Recall[]> {
  let recalls: readonly Recall[] = [];
  for (const { perText, inAll } of vectors.repetitive ? [FAR] : [NEAR, FAR]) {
    const near = await nearestToAny(vectors, texts, Math.max(perText, 2 * count), excluded);
    const best = new BestOf(Math.min(near.slots.length, Math.max(inAll, 2 * count)));
    for (const [at, similarity] of near.similarities.entries()) best.offer(similarity, at);
    const candidates = best.kept().map((at) => ({
      row: rows.at(near.slots[at] as number),
      similarity: near.similarities[at] as number,
    }));
    const choice = choose(candidates, count, rows.lastStep);
    recalls = choice.recalls;
    vectors.repetitive = choice.distinct < count && perText + excluded.size < vectors.size;
    if (!vectors.repetitive) break;
  }
  return recalls;
}

/** Rows that are near to some text, each once: slots and similarities side by side, since a map of fractions is slow. */
interface NearRows {
  readonly slots: readonly number[];
  readonly similarities: Float64Array;
}

/**
 * How near each row is to the text that it is nearest to: 1 for that text's best, 0 for the
 * farthest of its hits, weighted by the text's age. Similarities themselves do not compare between
 * texts: a report is rather near to a hundred other reports, a question is a little near to its answer alone.
 */
async function nearestToAny(
  vectors: AgentVectors,
  texts: readonly string[],
  reach: number,
  excluded: ReadonlySet<number>,
): Promise<NearRows> {
  const hitsOfTexts: (readonly Hit[])[] = [];
  for (const text of texts) hitsOfTexts.push(await vectors.nearest(text, reach, excluded));
  const slots: number[] = [];
  const places = new Map<number, number>();
  const similarities = new Float64Array(hitsOfTexts.reduce((sum, hits) => sum + hits.length, 0));
  for (const [position, hits] of hitsOfTexts.entries()) {
    const [best, last] = [hits[0]?.score ?? 0, hits.at(-1)?.score ?? 0];
    const span = Math.max(LEAST_SPAN, best - last + PLAIN_SHARE * best);
    const weight = weightOf(position, texts.length) / span;
    for (const { slot, score } of hits) {
      const similarity = weight * (score - last + PLAIN_SHARE * score);
      const place = places.get(slot) ?? slots.length;
      if (place === slots.length) {
        places.set(slot, place);
        slots.push(slot);
        similarities[place] = similarity;
      } else if (similarity > (similarities[place] as number)) similarities[place] = similarity;
    }
  }
  return { slots, similarities: similarities.subarray(0, slots.length) };
}

function findByWords(
  rows: AgentRows,
  slots: Iterable<number>,
  excluded: ReadonlySet<number>,
  texts: readonly string[],
  count: number,
): readonly Recall[] {
  const newest = Iterator.from(slots)
    .filter((slot) => !excluded.has(slot))
    .take(MAX_ROWS_BY_WORDS)
    .map((slot) => rows.at(slot));
  return choose(byWords([...newest], queryWords(texts)), count, rows.lastStep).recalls;
}
