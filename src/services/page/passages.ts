/**
 * passages.ts -- a page's text in passages of about 600 to 1,000 tokens, cut on its structure, each with a name to cite.
 *
 * A passage repeats the last paragraph of the one before it, and a piece of a table its heading rows, so that it can be
 * read by itself.
 */
import type { Page, Passage } from "#core/services.ts";
import { chunkText } from "#util/chunk-text.ts";

const PASSAGE_TOKENS = 900;
const OVERLAP_SHARE = 0.15;
const MAX_PASSAGE_CHARS = 3_600;

/** Near enough for a budget: a word of English is four characters, a sign of other scripts is mostly one token. */
export function tokensIn(text: string): number {
  let others = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x24f) others += 1;
  return Math.ceil((text.length - others) / 3.8 + others * 0.8);
}

export function passagesOf({ text, contentType }: Pick<Page, "text" | "contentType">): Passage[] {
  if (text.trim() === "") return [];
  const maxChars = Math.min(MAX_PASSAGE_CHARS, Math.ceil((PASSAGE_TOKENS * text.length) / tokensIn(text)));
  const isMarkdown = /html|pdf|markdown/.test(contentType);
  // A piece of comma-separated values means nothing without the names of its columns.
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
