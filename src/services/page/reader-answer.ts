/** reader-answer.ts -- checks the answer of a reader, which a hostile page may have taken over. */
import { oneLine } from "#core/text.ts";
import { type Link, MAX_LINKS, nameLink, resolveLink } from "./links.ts";
import type { Readable } from "./readable.ts";
import { explainProblem, isPageProblem } from "./unreadable.ts";
import { keepVisible } from "./visible-text.ts";

const MAX_TITLE_CHARS = 200;
const MAX_REMARKS = 10;
/** A remark may name an address. */
const MAX_REMARK_CHARS = 1_200;

/** Returns a problem as a sentence, or undefined for an answer of another shape. */
export function checkAnswer(value: unknown, text: Buffer): Readable | string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { problem, title, links, remarks } = value as Readonly<Record<string, unknown>>;
  if (isPageProblem(problem)) return explainProblem(problem);
  if (typeof title !== "string" || !Array.isArray(links) || !Array.isArray(remarks)) return undefined;
  return {
    title: cleanLine(title, MAX_TITLE_CHARS),
    text: text.toString("utf8"),
    links: links
      .slice(0, MAX_LINKS)
      .filter(isLink)
      .map(({ text: name, href }) => ({ text: nameLink(name), href })),
    remarks: remarks.slice(0, MAX_REMARKS).map((remark) => cleanLine(String(remark), MAX_REMARK_CHARS)),
  };
}

const cleanLine = (text: string, limit: number): string => oneLine(keepVisible(text), limit);

function isLink(value: unknown): value is Link {
  const { text, href } = Object(value) as Partial<Record<keyof Link, unknown>>;
  return typeof text === "string" && typeof href === "string" && resolveLink(href, href) === href;
}
