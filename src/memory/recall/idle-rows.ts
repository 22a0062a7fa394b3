/**
 * idle-rows.ts -- tells the rows that say nothing to a query: idle steps, and steps that only repeat a text of it.
 *
 * The prompt shows the texts of a query already. A text repeats a row when it has nearly all words and numbers of the row. Words count
 * by their rarity; those of every row, such as the names of a row's parts, count nothing. With one text, only questions
 * are left: the text may be a search for the very words of a row. (Without this rule R@10 of a question among fourteen
 * turns of test/data/memory is 0.65 at 1,000 rows; with it 0.69.)
 */
import type { WeighWord, WordSet } from "../lexical/word-set.ts";
import type { QueryPart } from "./query-parts.ts";
import type { RecallableRow } from "./row-columns.ts";

/** Share of a row's words, by weight, from which a part of the query repeats it. */
const REPEATED_SHARE = 0.85;
/** Weight that `weigh` has for a word of every row. */
const COMMONEST_WEIGHT = Math.LN2;

export function createIdleCheck(parts: readonly QueryPart[], weigh: WeighWord): (row: RecallableRow) => boolean {
  /** By hash of a word or number: the parts that have it, as bits. */
  const partsWith = new Map<number, number>();
  for (const [at, { stems, numbers }] of parts.entries())
    for (const hash of [...stems, ...numbers]) partsWith.set(hash, (partsWith.get(hash) ?? 0) | (1 << at));
  const isRepeated = ({ hashes, numbers }: WordSet): boolean => {
    const shares = new Float64Array(parts.length);
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
