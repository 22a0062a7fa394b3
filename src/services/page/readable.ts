/** readable.ts -- the result of reading a page of any kind. */
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import type { Document, Element } from "./dom.ts";

export interface Link {
  readonly text: string;
  readonly href: string;
}

export const MAX_LINKS = 200;
/** A longer address carries data. */
const MAX_HREF_CHARS = 1_000;
const MAX_LINK_TEXT_CHARS = 120;

/** Returns the absolute address of a link. Undefined if it is not http(s), or stays on the same page. */
export function resolveLink(href: string | null, base: string): string | undefined {
  const given = href?.trim() ?? "";
  if (given === "" || given.startsWith("#") || given.length > MAX_HREF_CHARS) return undefined;
  const url = URL.parse(given, base);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined;
  url.username = "";
  url.password = "";
  return url.href.length <= MAX_HREF_CHARS ? url.href : undefined;
}

/** Returns the address that the page's relative links refer to. */
export function findBaseUrl(document: Document, url: string): string {
  return resolveLink(document.querySelector("base[href]")?.getAttribute("href") ?? null, url) ?? url;
}

export function findLinks(root: Element, base: string): Link[] {
  const found: Link[] = [];
  for (const anchor of root.querySelectorAll("a[href]")) {
    const href = resolveLink(anchor.getAttribute("href"), base);
    const text = nameAnchor(anchor);
    if (href !== undefined && text !== "") found.push({ text, href });
    if (found.length === MAX_LINKS * 4) break;
  }
  return found;
}

/** Joins lists in order. Drops fragments and duplicates, and keeps the first MAX_LINKS. */
export function joinLinks(...lists: readonly (readonly Link[])[]): Link[] {
  const byAddress = new Map<string, Link>();
  for (const link of lists.flat()) {
    const address = link.href.replace(/#.*$/s, "");
    if (!byAddress.has(address)) byAddress.set(address, { text: link.text, href: address });
    if (byAddress.size === MAX_LINKS) break;
  }
  return [...byAddress.values()];
}

function nameAnchor(anchor: Element): string {
  const image = anchor.querySelector("img[alt]")?.getAttribute("alt");
  const text =
    anchor.textContent.trim() || anchor.getAttribute("aria-label") || image || anchor.getAttribute("title") || "";
  return nameLink(text);
}

/** Returns the text of a link as one short line without invisible characters. */
export const nameLink = (text: string): string => oneLine(keepVisible(text), MAX_LINK_TEXT_CHARS);

export interface Readable {
  /** Empty if the page has none. */
  readonly title: string;
  readonly text: string;
  readonly links: readonly Link[];
  /** Sentences about what is missing. */
  readonly remarks: readonly string[];
}

/** Maximum memory of a reader. */
export const MEMORY_MEGABYTES = 512;

const SENTENCES = {
  locked: "The PDF is locked with a password.",
  damaged: "The PDF is damaged and cannot be read.",
  broken: "It could not be taken apart.",
  memory: `It needed more than ${MEMORY_MEGABYTES} MB of memory.`,
} as const;

export type PageProblem = keyof typeof SENTENCES;

export const isPageProblem = (value: unknown): value is PageProblem =>
  typeof value === "string" && Object.hasOwn(SENTENCES, value);

export const explainProblem = (problem: PageProblem): string => SENTENCES[problem];

export const unreadable = (problem: PageProblem): Error => Object.assign(new Error(problem), { problem });

export function problemOf(error: unknown): PageProblem {
  if (isOutOfMemory(error)) return "memory";
  const { problem } = Object(error) as { readonly problem?: unknown };
  return isPageProblem(problem) ? problem : "broken";
}

/** pdf.js passes errors on with their message alone. */
export const isOutOfMemory = (error: unknown): boolean =>
  /allocation failed|out of memory|Invalid (?:typed )?array (?:buffer )?length/i.test(
    String((error as { message?: unknown } | null)?.message),
  );

const INVISIBLE =
  /\u034f|[\u00ad\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;
const JOINER_RUN = /([\u200c\u200d])[\u200c\u200d]+/g;
const STRAY_JOINER = /(?<=^|\s)[\u200c\u200d]|[\u200c\u200d](?=$|\s)/g;

/**
 * Removes characters from text that no person sees. Besides control codes: zero-width characters, fillers, soft
 * hyphens, tag characters and variation selectors, which can hide whole sentences from people and show them to models.
 * Keeps a joiner between two visible characters: some scripts and emoji need it.
 */
export function keepVisible(text: string): string {
  return clean(text).toWellFormed().replace(INVISIBLE, "").replace(JOINER_RUN, "$1").replace(STRAY_JOINER, "");
}

/** Reduces runs of blank lines to one and removes trailing white space. Takes linear time. */
export function tidyLines(text: string): string {
  const lines: string[] = [];
  let blanks = 0;
  for (const line of text.split("\n")) {
    const kept = line.trimEnd();
    blanks = kept === "" ? blanks + 1 : 0;
    if (blanks < 2 && (kept !== "" || lines.length > 0)) lines.push(kept);
  }
  while (lines.at(-1) === "") lines.pop();
  return lines.join("\n");
}
