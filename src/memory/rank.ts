/**
 * rank.ts -- which of the candidates are recalled, and in what order.
 *
 * score = similarity x (1 + 0.06 x importance + 0.04 x recency), recency halving every 200
 * steps (what the similarity is, find.ts says): both can only decide between candidates that are nearly equally near. (A recency that
 * adds to the similarity instead buries what is old: 0.77 against 0.60 recall in a
 * trial on dialogues.) Near-duplicates, told by their words, stand behind everything that
 * differs, but they stand: ten are recalled when ten are there.
 */
import type { Recall } from "#core/ports.ts";
import type { Remembered } from "./rows.ts";

export interface Candidate {
  readonly row: Remembered;
  readonly similarity: number;
}
export interface Choice {
  readonly recalls: readonly Recall[];
  /** How many of them are no near-duplicate of a better one. */
  readonly distinct: number;
}

const IMPORTANCE_WEIGHT = 0.06;
const RECENCY_WEIGHT = 0.04;
const HALF_LIFE_STEPS = 200;
/** Shared words over all words, above which two rows say the same. */
const NEAR_DUPLICATE = 0.7;

/** At most `count` of the candidates, best first. `lastStep` is the step that ages are counted from. */
export function choose(candidates: readonly Candidate[], count: number, lastStep: number): Choice {
  const scored = candidates
    .map(({ row, similarity }) => ({ row, score: boost(row, similarity, lastStep) }))
    .sort((a, b) => b.score - a.score || b.row.seq - a.row.seq);
  const distinct: typeof scored = [];
  const repeated: typeof scored = [];
  for (const one of scored) {
    if (distinct.length === count) break;
    const repeats = distinct.some(({ row }) => isNearDuplicate(row.words, one.row.words));
    (repeats ? repeated : distinct).push(one);
  }
  const floor = distinct.at(-1)?.score ?? 0;
  const behind = repeated.map(({ row, score }) => ({ row, score: Math.min(score, floor) }));
  const recalls = [...distinct, ...behind].slice(0, count).map(toRecall);
  return { recalls, distinct: distinct.length };
}

/** A negative similarity is left alone: a boost would push it down. */
function boost({ importance, step }: Remembered, similarity: number, lastStep: number): number {
  const recency = 2 ** (-Math.max(0, lastStep - (step ?? lastStep)) / HALF_LIFE_STEPS);
  return similarity <= 0 ? similarity : similarity * (1 + IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * recency);
}

/** Whether two ascending sets share at least `NEAR_DUPLICATE` of their words; gives up when too many differ. */
export function isNearDuplicate(a: Uint32Array, b: Uint32Array): boolean {
  const total = a.length + b.length;
  /** shared / (total - shared) >= d, solved for the words that may stand in one set only. */
  let spare = total - 2 * Math.ceil((NEAR_DUPLICATE * total) / (1 + NEAR_DUPLICATE) - 1e-9);
  let left = 0;
  let right = 0;
  while (left < a.length && right < b.length) {
    const difference = (a[left] as number) - (b[right] as number);
    if (difference <= 0) left++;
    if (difference >= 0) right++;
    if (difference !== 0 && --spare < 0) return false;
  }
  return a.length - left + b.length - right <= spare;
}

/**
 * Without vectors: shared words, the rare ones counting more, over these rows. Similarities lie
 * in 0..1 and never at 0, so that with nothing in common the newest and most important come first.
 */
export function byWords(rows: readonly Remembered[], query: ReadonlyMap<number, number>): Candidate[] {
  const rowsWith = new Map<number, number>();
  for (const { words } of rows)
    for (const word of words) if (query.has(word)) rowsWith.set(word, (rowsWith.get(word) ?? 0) + 1);
  const worth = new Map<number, number>();
  for (const [word, count] of rowsWith) worth.set(word, (query.get(word) ?? 0) * Math.log(1 + rows.length / count));
  const sums = rows.map(({ words }) => {
    let sum = 0;
    for (const word of words) sum += worth.get(word) ?? 0;
    return sum / Math.sqrt(words.length + 1);
  });
  const highest = Math.max(1e-9, ...sums);
  return rows.map((row, index) => ({ row, similarity: 0.01 + (0.99 * (sums[index] ?? 0)) / highest }));
}

const toRecall = ({ row, score }: { readonly row: Remembered; readonly score: number }): Recall => {
  const { id, step, at, kind, trust, text } = row;
  return { id, step, at, kind, trust, text, score };
};
