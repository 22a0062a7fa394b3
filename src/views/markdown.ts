/**
 * markdown.ts -- escapes text of models, files and people for a Markdown document.
 *
 * Escaped text cannot start a heading, a list, a link, an image, HTML or a formula, and has no control characters.
 * All functions return one line, except `quote`, which marks each line, and `fitLines`.
 */
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";

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

export const codeList = (names: readonly string[]): string => names.map((name) => code(name, 300)).join(", ");

/** The lines that fit, and the number of lines that do not. */
export function fitLines(lines: readonly string[], maxBytes: number, what: string, indent = ""): string {
  let bytes = 0;
  const fitting = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > maxBytes;
  });
  if (fitting < 0) return lines.join("\n");
  return [...lines.slice(0, fitting), `${indent}- and ${lines.length - fitting} more ${what}, omitted here`].join("\n");
}

/** GitHub turns bare addresses into links, and dollar signs into formulas. */
const escapeLine = (line: string): string =>
  line
    .replace(/[\\`*_[\]<>|~$&@]/g, "\\$&")
    .replace(/:(?=\/)|(?<=www)\./gi, "\\$&")
    .replace(/^(\d{1,9})(?=[.)])/, "$1\\")
    .replace(/^[#+=-]/, "\\$&");
