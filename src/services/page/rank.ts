/**
 * rank.ts -- ranks passages by relevance to a question: BM25 over stemmed words, headings counted twice.
 *
 * Frequent words get almost no weight, so no list of stop words is needed in any language. A passage without a word of
 * the question is left out.
 */
import type { Passage } from "#core/services.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import { estimateTokens } from "./passages.ts";

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** Returns all passages in order if they fit into `maxTokens`; else as many as fit, best first. */
export function selectPassages(passages: readonly Passage[], question: string, maxTokens: number): Passage[] {
  const costs = new Map(
    passages.map((passage) => [
      passage,
      estimateTokens(passage.text) + estimateTokens(passage.headings.join(" ")) + 10,
    ]),
  );
  const takeFitting = (candidates: readonly Passage[]): Passage[] => {
    let left = maxTokens;
    return candidates.filter((passage) => {
      const cost = costs.get(passage) ?? 0;
      if (cost > left) return false;
      left -= cost;
      return true;
    });
  };
  if (takeFitting(passages).length === passages.length) return [...passages];
  const ranked = rankPassages(passages, question);
  const [beginning] = passages;
  // The beginning tells what the page is about. If no passage shares a word with the question, they keep their order.
  const candidates =
    ranked.length === 0 ? passages : beginning && !ranked.includes(beginning) ? [...ranked, beginning] : ranked;
  const chosen = takeFitting(candidates);
  return chosen.length > 0 ? chosen : clipFirst(candidates, maxTokens);
}

/** Returns the passages that share a word with the question, best first. */
export function rankPassages(passages: readonly Passage[], question: string): Passage[] {
  const asked = [...new Set(stemWords(question))];
  const measured = passages.map((passage) => {
    const heading = stemWords(passage.headings.join("\n"));
    const stems = [...stemWords(passage.text), ...heading, ...heading];
    return { passage, length: stems.length, counts: countStems(stems, asked) };
  });
  const average = measured.reduce((sum, { length }) => sum + length, 0) / Math.max(1, measured.length);
  const weights = asked.map((_stem, index) => {
    const containing = measured.filter(({ counts }) => (counts[index] ?? 0) > 0).length;
    return Math.log(1 + (measured.length - containing + 0.5) / (containing + 0.5));
  });
  const scored = measured.map(({ passage, length, counts }) => {
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

const stemWords = (text: string): string[] => wordsOf(text).map(stemOf);

/** Counts how often each asked stem occurs. */
function countStems(stems: readonly string[], asked: readonly string[]): number[] {
  const places = new Map(asked.map((stem, index) => [stem, index]));
  const counts = asked.map(() => 0);
  for (const stem of stems) {
    const place = places.get(stem);
    if (place !== undefined) counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

/** Returns as much of the first passage as fits. */
function clipFirst([first]: readonly Passage[], maxTokens: number): Passage[] {
  if (!first || maxTokens < 1) return [];
  const share = maxTokens / (estimateTokens(first.text) + estimateTokens(first.headings.join(" ")) + 10);
  const text = first.text.slice(0, Math.floor(first.text.length * Math.min(1, share))).toWellFormed();
  return text === "" ? [] : [{ ...first, text }];
}
