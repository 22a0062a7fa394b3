/**
 * rank.ts -- which passages are nearest to a question: BM25 over stemmed words, headings counted twice.
 *
 * Words that stand everywhere weigh next to nothing, so that no list of stop words is needed in any language. What
 * has no word in common with the question is not among the answer.
 */
import type { Passage } from "#core/services.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import { tokensIn } from "./passages.ts";

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** All of them in order when they fit into so many tokens; else the best first, as many as fit. */
export function selectPassages(passages: readonly Passage[], question: string, maxTokens: number): Passage[] {
  const costs = new Map(
    passages.map((passage) => [passage, tokensIn(passage.text) + tokensIn(passage.headings.join(" ")) + 10]),
  );
  const within = (wanted: readonly Passage[]): Passage[] => {
    let left = maxTokens;
    return wanted.filter((passage) => {
      const cost = costs.get(passage) ?? 0;
      if (cost > left) return false;
      left -= cost;
      return true;
    });
  };
  if (within(passages).length === passages.length) return [...passages];
  const ranked = rankPassages(passages, question);
  const [beginning] = passages;
  // The beginning says what all the rest is about; for a question that shares no word with the page it is all there is.
  const wanted =
    ranked.length === 0 ? passages : beginning && !ranked.includes(beginning) ? [...ranked, beginning] : ranked;
  const chosen = within(wanted);
  return chosen.length > 0 ? chosen : clipFirst(wanted, maxTokens);
}

/** Those that share a word with the question, best first. */
export function rankPassages(passages: readonly Passage[], question: string): Passage[] {
  const asked = [...new Set(stemsOf(question))];
  const counted = passages.map((passage) => {
    const heading = stemsOf(passage.headings.join("\n"));
    const stems = [...stemsOf(passage.text), ...heading, ...heading];
    return { passage, length: stems.length, counts: countOf(stems, asked) };
  });
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const weights = asked.map((_stem, index) => {
    const having = counted.filter(({ counts }) => (counts[index] ?? 0) > 0).length;
    return Math.log(1 + (counted.length - having + 0.5) / (having + 0.5));
  });
  const scored = counted.map(({ passage, length, counts }) => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / Math.max(1, average));
    const score = counts.reduce(
      (sum, count, index) => sum + ((weights[index] ?? 0) * count * (SATURATION + 1)) / (count + norm),
      0,
    );
    return { passage, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ passage }) => passage);
}

const stemsOf = (text: string): string[] => wordsOf(text).map(stemOf);

/** How often each of the asked words stands among the others. */
function countOf(stems: readonly string[], asked: readonly string[]): number[] {
  const places = new Map(asked.map((stem, index) => [stem, index]));
  const counts = asked.map(() => 0);
  for (const stem of stems) {
    const place = places.get(stem);
    if (place !== undefined) counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

/** Not even one fits: as much of the first as does. */
function clipFirst([first]: readonly Passage[], maxTokens: number): Passage[] {
  if (!first || maxTokens < 1) return [];
  const share = maxTokens / (tokensIn(first.text) + tokensIn(first.headings.join(" ")) + 10);
  const text = first.text.slice(0, Math.floor(first.text.length * Math.min(1, share))).toWellFormed();
  return text === "" ? [] : [{ ...first, text }];
}
