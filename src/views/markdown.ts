/**
 * markdown.ts -- escapes text of models, files and people for a Markdown document.
 *
 * Escaped text cannot start a heading, a list, a link, an image, HTML or a formula, and has no control characters.
 * All functions return one line, except `quote`, which marks each line.
 */
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";

/** Prose in one line. */
export const inline = (text: string, maxChars: number): string => escapeLine(oneLine(clean(text), maxChars));

/** A name, path, address or command, as a code span. */
export function code(text: string, maxChars: number): string {
  const line = oneLine(clean(text), maxChars) || " ";
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const edge = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${edge}${line}${edge}${fence}`;
}

/** Paragraphs behind `>`, at most `maxChars` of them. */
export function quote(text: string, maxChars: number): string {
  const whole = clean(text).trim();
  const short = whole.length <= maxChars ? whole : `${whole.slice(0, maxChars - 1).toWellFormed()}…`;
  return short
    .split("\n")
    .map((line) => `> ${escapeLine(line.trim())}`.trimEnd())
    .join("\n");
}

/** GitHub turns bare addresses into links, and dollar signs into formulas. */
const escapeLine = (line: string): string =>
  line
    .replace(/[\\`*_[\]<>|~$&@]/g, "\\$&")
    .replace(/:(?=\/)|(?<=www)\./gi, "\\$&")
    .replace(/^(\d{1,9})(?=[.)])/, "$1\\")
    .replace(/^[#+=-]/, "\\$&");
