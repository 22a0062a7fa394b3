/**
 * web-pages.ts -- reads web pages, caches them, and selects passages for a question.
 *
 * The caller passes the fetcher, which checks addresses, robots.txt and the request rate. A cached page is served for
 * five minutes. Later it is revalidated if its server sent an ETag or a date.
 */
import { hash } from "node:crypto";
import { GoaldError, withOutside } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { addSources, webSource } from "#core/provenance.ts";
import type { Page, Passage, WebPages } from "#core/services.ts";
import { chunkText } from "#util/chunk-text.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import type { WebAnswer, WebRequest } from "../web/polite-web.ts";
import { pageKindOf, readContentType, typeNameOf } from "./content-type.ts";
import type { PageReader } from "./read-page.ts";

/** A page is read from its `content-type` itself. */
export type FetchedPage = Omit<WebAnswer, "contentType">;
export type FetchPage = (url: string, request: WebRequest) => Promise<FetchedPage>;

export interface WebPagesParts {
  readonly fetchPage: FetchPage;
  readonly reader: Pick<PageReader, "read">;
  readonly clock: Clock;
  /** Removes secrets from everything that a page says, before it is kept or sent to a model. */
  redact?(text: string): string;
}

const ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/markdown,text/plain;q=0.9,*/*;q=0.5";
const MAX_PAGE_BYTES = 10 * 1024 * 1024;
/** A cached page is served without a request for this long. */
const FRESH_MS = 5 * 60_000;
const MAX_CACHED_PAGES = 64;
const MAX_CACHED_CHARS = 4_000_000;

interface CachedPage {
  readonly page: Page;
  readonly at: number;
  /** Headers of a conditional request. Empty if the server sent neither ETag nor Last-Modified. */
  readonly condition: Readonly<Record<string, string>>;
}

export function createWebPages({ fetchPage, reader, clock, redact }: WebPagesParts): WebPages {
  const cache = new Map<string, CachedPage>();
  const passages = new WeakMap<Page, Passage[]>();

  async function readPage(url: string, signal: AbortSignal): Promise<Page> {
    signal.throwIfAborted();
    const key = url.replace(/#.*$/s, "");
    const cached = cache.get(key);
    const now = clock.now();
    if (cached && cached.at <= now.getTime() && now.getTime() < cached.at + FRESH_MS) return cached.page;
    const condition = cached?.condition ?? {};
    const conditional = Object.keys(condition).length > 0 ? { headers: condition } : {};
    const fetched = await fetchPage(url, {
      accept: ACCEPT,
      maxBytes: MAX_PAGE_BYTES,
      cuts: true,
      signal,
      ...conditional,
    });
    const isUnchanged = cached !== undefined && fetched.status === 304;
    const page = isUnchanged
      ? { ...cached.page, fetchedAt: now.toISOString() }
      : await readFetched(fetched, now, signal).catch((error: unknown) => {
          throw withOutside(error, addSources([], [webSource(url), webSource(fetched.url)]));
        });
    cache.delete(key);
    if (!/no-store/i.test(fetched.headers.get("cache-control") ?? ""))
      cache.set(key, { page, at: now.getTime(), condition: isUnchanged ? condition : readCondition(fetched.headers) });
    evictOldest(cache);
    return page;
  }

  async function readFetched(fetched: FetchedPage, now: Date, signal: AbortSignal): Promise<Page> {
    const { url, headers, bytes, isCut } = fetched;
    const header = headers.get("content-type");
    const type = readContentType(header);
    const kind = pageKindOf(type, bytes);
    if (isCut && kind === "pdf")
      throw new GoaldError("GOALD_WEB", `The PDF has more than the ${MAX_PAGE_BYTES} bytes that are read.`, {
        hint: "download_file saves it.",
      });
    const { remarks, ...readable } = await reader.read(bytes, header, url, signal);
    const page = {
      ...readable,
      url,
      contentType: typeNameOf(type, kind),
      sha256: hash("sha256", bytes),
      fetchedAt: now.toISOString(),
      remarks: isCut ? [...remarks, `Only the first ${MAX_PAGE_BYTES} bytes of the page were read.`] : remarks,
    };
    return redact ? redactPage(page, redact) : page;
  }

  return {
    read: readPage,
    async select(page, question, maxTokens) {
      const all = passages.get(page) ?? splitIntoPassages(page);
      passages.set(page, all);
      return selectPassages(all, question, maxTokens);
    },
  };
}

/** Keeps the address valid: a secret may be in its host. */
function redactPage(page: Page, redact: (text: string) => string): Page {
  const url = redact(page.url);
  return {
    ...page,
    url: URL.canParse(url) ? url : `https://redacted.invalid/#${encodeURIComponent(url)}`,
    title: redact(page.title),
    text: redact(page.text),
    links: page.links.map(({ text, href }) => ({ text: redact(text), href: redact(href) })),
    contentType: redact(page.contentType),
    remarks: page.remarks.map((remark) => redact(remark)),
  };
}

function readCondition(headers: Headers): Record<string, string> {
  const tag = headers.get("etag");
  const changed = headers.get("last-modified");
  if (tag) return { "if-none-match": tag };
  return changed ? { "if-modified-since": changed } : {};
}

function evictOldest(cache: Map<string, CachedPage>): void {
  let chars = 0;
  for (const { page } of cache.values()) chars += page.text.length;
  for (const [key, { page }] of cache) {
    if (cache.size <= MAX_CACHED_PAGES && chars <= MAX_CACHED_CHARS) return;
    cache.delete(key);
    chars -= page.text.length;
  }
}

const PASSAGE_TOKENS = 900;
const OVERLAP_SHARE = 0.15;
const MAX_PASSAGE_CHARS = 3_600;

/** Estimates tokens: one for 3.8 Latin characters, 0.8 for each character of other scripts. */
export function estimateTokens(text: string): number {
  let others = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x24f) others += 1;
  return Math.ceil((text.length - others) / 3.8 + others * 0.8);
}

/**
 * Splits a page's text along its structure into passages of about 600 to 1,000 tokens, each with an id to cite. A
 * passage repeats the end of the one before it, and a part of a table its header rows, so that each can be read alone.
 */
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
 * Returns all passages in order if they fit into `maxTokens`; else as many as fit, best first. Frequent words get
 * almost no weight, so no list of stop words is needed in any language. A passage without a word of the question is
 * left out.
 */
export function selectPassages(passages: readonly Passage[], question: string, maxTokens: number): Passage[] {
  const costs = new Map(passages.map((passage) => [passage, costOf(passage)]));
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
  const share = maxTokens / costOf(first);
  const text = first.text.slice(0, Math.floor(first.text.length * Math.min(1, share))).toWellFormed();
  return text === "" ? [] : [{ ...first, text }];
}

/** In tokens, with room for its id and marks. */
const costOf = ({ text, headings }: Passage): number => estimateTokens(text) + estimateTokens(headings.join(" ")) + 10;
