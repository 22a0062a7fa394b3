/**
 * passages.ts -- splits a page's text along its structure into passages of about 600 to 1,000 tokens, each with an id
 * to cite.
 *
 * A passage repeats the end of the one before it, and a part of a table its header rows, so that each can be read
 * alone.
 */
import type { Page, Passage } from "#core/services.ts";
import { chunkText } from "#util/chunk-text.ts";
import { stemOf, wordsOf } from "#util/words.ts";

const PASSAGE_TOKENS = 900;
const OVERLAP_SHARE = 0.15;
const MAX_PASSAGE_CHARS = 3_600;

/** Estimates tokens: one for 3.8 Latin characters, 0.8 for each character of other scripts. */
export function estimateTokens(text: string): number {
  let others = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x24f) others += 1;
  return Math.ceil((text.length - others) / 3.8 + others * 0.8);
}

export function splitIntoPassages({ text, contentType }: Pick<Page, "text" | "contentType">): Passage[] {
  if (text.trim() === "") return [];
  const maxChars = Math.min(MAX_PASSAGE_CHARS, Math.ceil((PASSAGE_TOKENS * text.length) / estimateTokens(text)));
  const isMarkdown = /html|pdf|markdown/.test(contentType);
  // Each passage of comma-separated values needs the names of the columns.
  const columns = contentType === "text/csv" ? `${text.slice(0, 400).split("\n", 1)[0]}\n` : "";
  return chunkText(text, {
    maxChars,
    overlapChars: Math.floor(maxChars * OVERLAP_SHARE),
    format: isMarkdown ? "markdown" : "plain",
  })
    .map((chunk) => ({ ...chunk, lead: chunk.start > 0 ? chunk.lead || columns : "" }))
    .filter((chunk) => chunk.text.trim() !== "")
    .map(({ headings, lead, text: piece }, index) => ({ id: `p${index + 1}`, headings, text: lead + piece.trimEnd() }));
}

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * Returns all passages in order if they fit into `maxTokens`; else as many as fit, best first.
 *
 * Frequent words get almost no weight, so no list of stop words is needed in any language. A passage without a word of
 * the question is left out.
 */
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
