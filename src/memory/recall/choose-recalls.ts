/**
 * choose-recalls.ts -- chooses and orders the candidates that are recalled.
 *
 * score = similarity x (1 + 0.06 x importance + 0.04 x recency), where recency halves every 200 steps. Both bonuses
 * only decide between candidates of nearly equal similarity. (Recency added to the similarity buries old rows: recall
 * fell from 0.77 to 0.60, measured on dialogues.)
 *
 * Candidates are chosen by maximal marginal relevance (Carbonell and Goldstein 1998): 0.6 x score minus 0.4 x their
 * likeness to a row already chosen. Likeness is the share of shared words, each weighed by its rarity, so that facts
 * which were noted in the same way stay apart. (With equal weights one of eight facts about a person was recalled.) Of
 * near-duplicates one is chosen: the newest of those with about equal scores. The others come last, but they are kept:
 * ten rows are recalled while there are ten, and for the same reason no score is too low by default. Idle rows come
 * after all others that are no near-duplicates.
 */
import { type WeighedWords, type WeighWord, type WordSet, weightedJaccard, weighWords } from "../words/vocabulary.ts";
import type { QueryPart } from "./query-parts.ts";
import type { RecallableRow } from "./row-columns.ts";

export interface RecallCandidate {
  /** Number of the row among all memories searched. */
  readonly slot: number;
  readonly row: RecallableRow;
  readonly similarity: number;
  /** The step that the row's age is counted from. */
  readonly lastStep: number;
}
/** Its score is comparable only within one choice. */
export type ChosenRow = Pick<RecallCandidate, "slot" | "row"> & { readonly score: number };

export interface RecallChoice {
  readonly recalls: readonly ChosenRow[];
  /** Number of chosen rows that are neither idle nor near-duplicates of a better one. */
  readonly distinct: number;
}

const IMPORTANCE_WEIGHT = 0.06;
const RECENCY_WEIGHT = 0.04;
const HALF_LIFE_STEPS = 200;
/** Bonus of a person's correction, so that it outranks rows that still hold the error. */
const CORRECTION_WEIGHT = 0.3;
/** Weighted Jaccard similarity from which two rows are near-duplicates. */
const NEAR_DUPLICATE = 0.7;
/** A newer near-duplicate replaces the chosen one if its score is at least this share of it. */
const ABOUT_EQUAL = 0.9;
/** Weight of a candidate's score against its overlap with the chosen rows. */
const RELEVANCE_WEIGHT = 0.6;

interface ChoiceOptions {
  readonly pinned?: readonly RecallCandidate[];
  readonly fillers?: readonly RecallCandidate[];
  /** Default: all words weigh the same. */
  readonly weigh?: WeighWord;
  /** Tells rows that say nothing. Default: no row is idle. */
  readonly isIdle?: (row: RecallableRow) => boolean;
}

interface ScoredCandidate {
  slot: number;
  row: RecallableRow;
  score: number;
  /** Highest weighted Jaccard similarity with a chosen row. */
  overlap: number;
  /** Number of chosen rows that the overlap takes into account. */
  compared: number;
  /** The row's words, once they were compared. */
  words?: WeighedWords;
}

/**
 * Chooses at most `count` rows, best first. `pinned` rows come first, whatever their similarity; then the candidates;
 * then `fillers`; then idle rows; then the near-duplicates.
 */
export function chooseRecalls(
  candidates: readonly RecallCandidate[],
  count: number,
  { pinned = [], fillers = [], weigh = () => 1, isIdle = () => false }: ChoiceOptions = {},
): RecallChoice {
  const pinnedSlots = new Set(pinned.map(({ slot }) => slot));
  const chosen: ScoredCandidate[] = [];
  const duplicates: ScoredCandidate[] = [];
  const ranked: ScoredCandidate[] = [];
  const idle: ScoredCandidate[] = [];
  /** A choice can only lower the others' worth, so a candidate's overlap is updated only when it would be next. */
  const choose = (tier: ScoredCandidate[], isLeftForLater: (row: RecallableRow) => boolean = () => false): void => {
    const from = chosen.length;
    const left = tier.sort(compareScores);
    const scale = Math.max(left[0]?.score ?? 0, Number.MIN_VALUE);
    while (chosen.length < count && left.length > 0) {
      const at = findBest(left, RELEVANCE_WEIGHT / scale);
      const next = left[at] as ScoredCandidate;
      if (next.compared < chosen.length) {
        const original = updateOverlap(next, chosen, weigh);
        if (!original) continue;
        const isBetter = next.row.seq > original.row.seq && next.score >= ABOUT_EQUAL * original.score;
        if (isBetter && !original.row.isPinned) swapRows(next, original);
        duplicates.push(next);
      } else if (isLeftForLater(next.row)) idle.push({ ...next, compared: 0, overlap: 0 });
      else chosen.push(next);
      left.splice(at, 1);
    }
    ranked.push(...chosen.slice(from).sort(compareScores));
  };
  const score = (tier: readonly RecallCandidate[]): ScoredCandidate[] =>
    tier.map(({ slot, row, similarity, lastStep }) => {
      return { slot, row, score: addBonuses(row, similarity, lastStep), overlap: 0, compared: 0 };
    });
  const others = (tier: readonly RecallCandidate[]) => score(tier.filter(({ slot }) => !pinnedSlots.has(slot)));
  choose(score(pinned));
  choose(others(candidates), isIdle);
  choose(others(fillers), isIdle);
  const distinct = chosen.length;
  choose(idle);
  ranked.push(...duplicates.sort(compareScores));
  // Reported scores never rise from one row to the next.
  let highest = Math.max(0, ...ranked.map(({ score }) => score));
  const recalls = ranked.slice(0, count).map(({ slot, row, score }, place) => {
    if (place >= pinned.length) highest = Math.min(highest, score);
    return { slot, row, score: highest };
  });
  return { recalls, distinct };
}

const compareScores = (a: ScoredCandidate, b: ScoredCandidate): number => b.score - a.score || b.row.seq - a.row.seq;

/** Stops early, because no later candidate can be worth more than its weighted score. */
function findBest(left: readonly ScoredCandidate[], relevanceFactor: number): number {
  let best = 0;
  let highest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < left.length; at++) {
    const { score, overlap } = left[at] as ScoredCandidate;
    const relevance = relevanceFactor * score;
    if (relevance <= highest) break;
    const worth = relevance - (1 - RELEVANCE_WEIGHT) * overlap;
    if (worth <= highest) continue;
    highest = worth;
    best = at;
  }
  return best;
}

/** Updates the overlap with the chosen rows. Returns the chosen row that this one is a near-duplicate of, if any. */
function updateOverlap(
  next: ScoredCandidate,
  chosen: readonly ScoredCandidate[],
  weigh: WeighWord,
): ScoredCandidate | undefined {
  const wordsOf = (candidate: ScoredCandidate) => (candidate.words ??= weighWords(candidate.row.words, weigh));
  for (; next.compared < chosen.length; next.compared++) {
    const other = chosen[next.compared] as ScoredCandidate;
    const likeness = weightedJaccard(wordsOf(next), wordsOf(other), weigh);
    if (likeness >= NEAR_DUPLICATE) return other;
    next.overlap = Math.max(next.overlap, likeness);
  }
  return undefined;
}

function swapRows(one: ScoredCandidate, other: ScoredCandidate): void {
  const { slot, row, words } = one;
  Object.assign(one, { slot: other.slot, row: other.row, words: other.words });
  Object.assign(other, { slot, row, words });
}

/** Leaves a negative similarity alone, because a factor would lower it. */
function addBonuses({ importance, step, isCorrection }: RecallableRow, similarity: number, lastStep: number): number {
  if (similarity <= 0) return similarity;
  const recency = 2 ** (-Math.max(0, lastStep - (step ?? lastStep)) / HALF_LIFE_STEPS);
  const correction = isCorrection ? CORRECTION_WEIGHT : 0;
  return similarity * (1 + IMPORTANCE_WEIGHT * importance + RECENCY_WEIGHT * recency + correction);
}

/** Share of a row's words, by weight, from which a part of the query repeats it. */
const REPEATED_SHARE = 0.85;
/** Weight that `weigh` has for a word of every row. */
const COMMONEST_WEIGHT = Math.LN2;

/**
 * Returns a function that finds the rows which say nothing to a query: idle steps, and steps that only repeat a text of
 * it. The prompt shows the texts of a query already. A text repeats a row when it has nearly all words and numbers of
 * the row. Words count by their rarity; those of every row, such as the names of a row's parts, count nothing. With one
 * text, only questions are left: the text may be a search for the very words of a row. (Without this rule R@10 of a
 * question among fourteen turns of test/data/memory is 0.65 at 1,000 rows; with it 0.69.)
 */
export function createIdleCheck(parts: readonly QueryPart[], weigh: WeighWord): (row: RecallableRow) => boolean {
  /** By hash of a word or number: the parts that have it, as bits. */
  const partsWith = new Map<number, number>();
  for (const [at, { stems, numbers }] of parts.entries())
    for (const hashes of [stems, numbers])
      for (const hash of hashes) partsWith.set(hash, (partsWith.get(hash) ?? 0) | (1 << at));
  /** Scratch: by part, the weight that it has of a row's words. */
  const shares = new Float64Array(parts.length);
  const isRepeated = ({ hashes, numbers }: WordSet): boolean => {
    shares.fill(0);
    let all = 0;
    const count = (hash: number, weight: number): void => {
      all += weight;
      const found = partsWith.get(hash) ?? 0;
      for (let at = 0; at < parts.length; at++) if (found & (1 << at)) shares[at] = (shares[at] as number) + weight;
    };
    for (const hash of hashes) count(hash, Math.max(0, weigh(hash) - COMMONEST_WEIGHT));
    if (all === 0) return false;
    // A number that the part lacks is news, whatever the words are.
    const numberWeight = all;
    for (const hash of numbers) count(hash, numberWeight);
    return shares.some((share) => share >= REPEATED_SHARE * all);
  };
  const isAmongOthers = parts.length > 1;
  return ({ importance, kind, trust, words, isQuestion }) =>
    kind === "step" && (importance === 0 || (trust === "agent" && (isAmongOthers || isQuestion) && isRepeated(words)));
}
