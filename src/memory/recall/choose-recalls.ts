/**
 * choose-recalls.ts -- which of the candidates are recalled, and in what order.
 *
 * score = similarity x (1 + 0.06 x importance + 0.04 x recency), recency halving every 200
 * steps (what the similarity is, find.ts says): both can only decide between candidates that are nearly equally near. (A recency that
 * adds to the similarity instead buries what is old: 0.77 against 0.60 recall in a
 * trial on dialogues.) Of what is left each next one is the best that says something else: 0.7 of
 * its score against 0.3 of the words that it shares with one already chosen. Near-duplicates, told by their words,
 * are given once, the newest of those that are about equally near; the others stand behind everything that
 * differs, but they stand: ten are recalled when ten are there, and for the same reason no score is too low.
 */
import type { Recall } from "#core/ports/recall.ts";
import { roughLikeness, sharesAtLeast } from "../lexical/word-set.ts";
import type { Remembered } from "./agent-rows.ts";

export interface Candidate {
  readonly row: Remembered;
  readonly similarity: number;
  /** The step that its age is counted from, where that is not the agent's own newest. */
  readonly lastStep?: number;
}
export interface Choice {
  readonly recalls: readonly Recall[];
  /** How many of them are no near-duplicate of a better one. */
  readonly distinct: number;
}

const IMPORTANCE_WEIGHT = 0.06;
const RECENCY_WEIGHT = 0.04;
const HALF_LIFE_STEPS = 200;
/** What a person put right stands before rows that still say it wrong. */
const CORRECTION_WEIGHT = 0.3;
/** Shared words over all words, from which on two rows say the same. */
const NEAR_DUPLICATE = 0.7;
/** Roughly told, rows that share less than this are no near-duplicates. */
const WORTH_COMPARING = 0.55;
/** A newer near-duplicate takes the place of one that is nearer by less than this. */
const ABOUT_EQUAL = 0.9;
/** What a candidate's own score counts against its being different. */
const OWN_SHARE = 0.7;

interface Scored {
  row: Remembered;
  score: number;
  /** Shared words over all words, with the chosen one that is most like it. */
  likeness: number;
  /** How many of the chosen it was compared with. */
  compared: number;
}

/**
 * At most `count` of the candidates, best first. `lastStep` is the step that ages are counted from. What is missing is taken
 * from `others`: behind the candidates, but before the near-duplicates among them. What is `pinned` comes first, however far it is.
 */
export function choose(
  candidates: readonly Candidate[],
  count: number,
  lastStep: number,
  { pinned = [], others = [] }: { readonly pinned?: readonly Candidate[]; readonly others?: readonly Candidate[] } = {},
): Choice {
  const chosen: Scored[] = [];
  const repeated: Scored[] = [];
  const ranked: Scored[] = [];
  for (const tier of [pinned, candidates, others]) {
    const from = chosen.length;
    chooseDistinct(tier.map((candidate) => toScored(candidate, lastStep)).sort(best), count, chosen, repeated);
    ranked.push(...chosen.slice(from).sort(best));
  }
  ranked.push(...repeated.sort(best));
  let floor = Math.max(0, ...ranked.map(({ score }) => score));
  const recalls = ranked.slice(0, count).map(({ row, score }, place) => {
    if (place >= pinned.length) floor = Math.min(floor, score);
    return toRecall(row, floor);
  });
  return { recalls, distinct: chosen.length };
}

const toScored = ({ row, similarity, lastStep }: Candidate, ownLastStep: number): Scored => ({
  row,
  score: boost(row, similarity, lastStep ?? ownLastStep),
  likeness: 0,
  compared: 0,
});

const best = (a: Scored, b: Scored): number => b.score - a.score || b.row.seq - a.row.seq;

/**
 * Maximal marginal relevance (Carbonell and Goldstein 1998). A candidate can only lose by what is chosen, so it is
 * compared with the chosen only when it would be next. Adds to `chosen` up to `count` in all; `left` is best first.
 */
function chooseDistinct(left: Scored[], count: number, chosen: Scored[], repeated: Scored[]): void {
  const scale = Math.max(left[0]?.score ?? 0, Number.MIN_VALUE);
  while (chosen.length < count && left.length > 0) {
    const at = worthiest(left, OWN_SHARE / scale);
    const next = left[at] as Scored;
    if (next.compared < chosen.length) {
      const twin = compare(next, chosen);
      if (!twin) continue;
      if (next.row.seq > twin.row.seq && next.score >= ABOUT_EQUAL * twin.score) exchange(next, twin);
      repeated.push(next);
    } else chosen.push(next);
    left.splice(at, 1);
  }
}

/** Nothing behind it can be worth more than its own score is. */
function worthiest(left: readonly Scored[], ownShare: number): number {
  let best = 0;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < left.length; at++) {
    const { score, likeness } = left[at] as Scored;
    const own = ownShare * score;
    if (own <= most) break;
    const worth = own - (1 - OWN_SHARE) * likeness;
    if (worth <= most) continue;
    most = worth;
    best = at;
  }
  return best;
}

/** Brings the likeness up to date; the chosen one of which this is a near-duplicate, if there is one. */
function compare(next: Scored, chosen: readonly Scored[]): Scored | undefined {
  for (; next.compared < chosen.length; next.compared++) {
    const other = chosen[next.compared] as Scored;
    const likeness = roughLikeness(next.row.words, other.row.words);
    if (likeness >= WORTH_COMPARING && sharesAtLeast(NEAR_DUPLICATE, next.row.words, other.row.words)) return other;
    next.likeness = Math.max(next.likeness, likeness);
  }
  return undefined;
}

function exchange(one: Scored, other: Scored): void {
  const row = one.row;
  one.row = other.row;
  other.row = row;
}

/** A negative similarity is left alone: a boost would push it down. */
function boost({ importance, step, supersedes, trust }: Remembered, similarity: number, lastStep: number): number {
  if (similarity <= 0) return similarity;
  const recency = 2 ** (-Math.max(0, lastStep - (step ?? lastStep)) / HALF_LIFE_STEPS);
  const correction = supersedes !== null && trust === "person" ? CORRECTION_WEIGHT : 0;
  return similarity * (1 + IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * recency + correction);
}

function toRecall({ id, step, at, kind, trust, text }: Remembered, score: number): Recall {
  return { id, step, at, kind, trust, text, score };
}
