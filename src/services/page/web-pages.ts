/**
 * web-pages.ts -- pages of the web, read and kept for a while, and their passages for a question.
 *
 * The way out is handed in: it guards addresses, keeps to robots.txt and to the pace of each host. A page that was read
 * moments ago is not asked for again; later its server is asked whether it has changed, where it gave a mark for that.
 */
import { createHash } from "node:crypto";
import { GoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Page, Passage, WebPages } from "#core/services.ts";
import { kindOf, readContentType, typeNameOf } from "./content-type.ts";
import { passagesOf } from "./passages.ts";
import { selectPassages } from "./rank.ts";
import type { PageReader } from "./read-page.ts";

/** What one GET came to: 200 to 299, or 304 where a condition was sent. Everything else is thrown. */
export interface FetchedPage {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** There was more. */
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
}

const ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/markdown,text/plain;q=0.9,*/*;q=0.5";
const MAX_BYTES = 10 * 1024 * 1024;
/** So long a page counts as it was read. */
const FRESH_MS = 5 * 60_000;
const MAX_KEPT_PAGES = 64;
const MAX_KEPT_CHARS = 4_000_000;

interface Kept {
  readonly page: Page;
  readonly at: number;
  /** Headers that ask whether it has changed; empty where the server gave no mark. */
  readonly condition: Readonly<Record<string, string>>;
}

export function createWebPages({ fetchPage, reader, clock }: WebPagesParts): WebPages {
  const kept = new Map<string, Kept>();
  const passages = new WeakMap<Page, Passage[]>();

  async function read(url: string, signal: AbortSignal): Promise<Page> {
    signal.throwIfAborted();
    const key = url.replace(/#.*$/s, "");
    const known = kept.get(key);
    const now = clock.now();
    if (known && now.getTime() - known.at < FRESH_MS) return known.page;
    const condition = known?.condition ?? {};
    const isAsking = Object.keys(condition).length > 0;
    const request = { accept: ACCEPT, maxBytes: MAX_BYTES, cuts: true, signal } as const;
    const fetched = await fetchPage(url, isAsking ? { ...request, headers: condition } : request);
    const isUnchanged = known !== undefined && fetched.status === 304;
    const page = isUnchanged
      ? { ...known.page, fetchedAt: now.toISOString() }
      : await readFetched(fetched, now, signal);
    kept.delete(key);
    if (!/no-store/i.test(fetched.headers.get("cache-control") ?? ""))
      kept.set(key, { page, at: now.getTime(), condition: isUnchanged ? condition : conditionOf(fetched.headers) });
    forgetOldest(kept);
    return page;
  }

  async function readFetched(fetched: FetchedPage, now: Date, signal: AbortSignal): Promise<Page> {
    const { url, headers, bytes, isCut } = fetched;
    const header = headers.get("content-type");
    const type = readContentType(header);
    const kind = kindOf(type, bytes);
    if (isCut && kind === "pdf")
      throw new GoaldError("GOALD_WEB", `The PDF has more than the ${MAX_BYTES} bytes that are read.`, {
        hint: "download_file saves it.",
      });
    const { remarks, ...readable } = await reader.read(bytes, header, url, signal);
    return {
      ...readable,
      url,
      contentType: typeNameOf(type, kind),
      sha256: createHash("sha256").update(bytes).digest("hex"),
      fetchedAt: now.toISOString(),
      remarks: isCut ? [...remarks, `Only the first ${MAX_BYTES} bytes of the page were read.`] : remarks,
    };
  }

  return {
    read,
    select(page, question, maxTokens) {
      const all = passages.get(page) ?? passagesOf(page);
      passages.set(page, all);
      return selectPassages(all, question, maxTokens);
    },
  };
}

function conditionOf(headers: Headers): Record<string, string> {
  const [tag, changed] = [headers.get("etag"), headers.get("last-modified")];
  if (tag) return { "if-none-match": tag };
  return changed ? { "if-modified-since": changed } : {};
}

function forgetOldest(kept: Map<string, Kept>): void {
  let chars = 0;
  for (const { page } of kept.values()) chars += page.text.length;
  for (const [key, { page }] of kept) {
    if (kept.size <= MAX_KEPT_PAGES && chars <= MAX_KEPT_CHARS) return;
    kept.delete(key);
    chars -= page.text.length;
  }
}
