/**
 * idle-rows.ts -- tells the rows that say nothing to a query: idle steps, and steps that only ask what is asked now.
 *
 * A question of the agent's own repeats the query when one part of it has nearly all its words and numbers. Words count by their
 * rarity; those of every row, such as the names of a row's parts, count nothing.
 */
import type { WeighWord, WordSet } from "../lexical/word-set.ts";
import type { RecallableRow } from "./agent-rows.ts";
import type { QueryPart } from "./query-parts.ts";

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
  return ({ importance, kind, trust, words, isQuestion }) =>
    kind === "step" && (importance === 0 || (trust === "agent" && isQuestion && isRepeated(words)));
}
