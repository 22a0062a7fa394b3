/**
 * passages.ts -- splits a page's text along its structure into passages of about 600 to 1,000 tokens, each with an id
 * to cite.
 *
 * A passage repeats the end of the one before it, and a part of a table its header rows, so that each can be read
 * alone.
 */
import type { Page, Passage } from "#core/services.ts";
import { chunkText } from "#util/chunk-text.ts";

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
