/**
 * web-pages.ts -- reads web pages, caches them, and selects passages for a question.
 *
 * The caller passes the fetcher, which checks addresses, robots.txt and the request rate. A cached page is served for
 * five minutes. Later it is revalidated if its server sent an ETag or a date.
 */
import { createHash } from "node:crypto";
import { GoaldError, withOutside } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { addSources, webSource } from "#core/provenance.ts";
import type { Page, Passage, WebPages } from "#core/services.ts";
import { pageKindOf, readContentType, typeNameOf } from "./content-type.ts";
import { selectPassages, splitIntoPassages } from "./passages.ts";
import type { PageReader } from "./read-page.ts";

/** Result of one GET: status 200 to 299, or 304 for a conditional request. Anything else is thrown. */
export interface FetchedPage {
  /** Address after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** True if the body was longer than `maxBytes`. */
  readonly isCut: boolean;
}
export type FetchPage = (
  url: string,
  request: {
    readonly accept: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly maxBytes: number;
    readonly cuts: true;
    readonly signal: AbortSignal;
  },
) => Promise<FetchedPage>;

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
    if (cached && now.getTime() - cached.at < FRESH_MS) return cached.page;
    const condition = cached?.condition ?? {};
    const isConditional = Object.keys(condition).length > 0;
    const request = { accept: ACCEPT, maxBytes: MAX_PAGE_BYTES, cuts: true, signal } as const;
    const fetched = await fetchPage(url, isConditional ? { ...request, headers: condition } : request);
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
      sha256: createHash("sha256").update(bytes).digest("hex"),
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
  const [tag, changed] = [headers.get("etag"), headers.get("last-modified")];
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
