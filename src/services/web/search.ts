/**
 * search.ts -- sends a search to one provider after the other until one of them answers.
 *
 * A refusal, a rate limit, a CAPTCHA, an unreadable answer and a timeout are failures, never "nothing found". A
 * provider that asks for a pause gets it. Answers are cached for a day.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import { type OutsideSource, webSource } from "#core/provenance.ts";
import type { SearchAnswer, SearchResult, WebSearch } from "#core/services.ts";
import { oneLine } from "#core/text.ts";
import { keepNewest } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { parseRetryAfter } from "#util/retry-after.ts";
import { explainReason } from "./polite-web.ts";

export interface WebSearchParts {
  /** In the order in which they are tried. */
  readonly providers: readonly SearchProvider[];
  readonly clock: Clock;
}

const CACHE_MS = 24 * 60 * 60_000;
const MAX_CACHED = 200;

export function createWebSearch({ providers, clock }: WebSearchParts): WebSearch {
  const cache = new Map<string, { readonly answer: SearchAnswer; readonly at: number }>();
  const pauses = new Map<string, { readonly since: number; readonly until: number }>();
  const now = (): number => clock.now().getTime();

  return {
    async search(query, count, signal) {
      const words = query.replace(/\s+/g, " ").trim();
      const key = `${count} ${words}`;
      const cached = cache.get(key);
      if (cached && cached.at <= now() && now() < cached.at + CACHE_MS)
        return { ...cached.answer, failed: [], isCached: true };
      const failed: { provider: string; reason: string }[] = [];
      // A redirect of a provider is in goald's own error, with the address that the provider chose.
      const quoted: OutsideSource[] = [];
      for (const { name: provider, search } of providers) {
        const { since, until } = pauses.get(provider) ?? { since: 0, until: 0 };
        // A clock that was set back ends the pause.
        if (since <= now() && now() < until) {
          failed.push({ provider, reason: `it is not asked again before ${new Date(until).toISOString()}` });
          continue;
        }
        const answered = await search(words, count, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (isGoaldError(error)) quoted.push(webSource(provider));
          return { failed: explainReason(error) };
        });
        if ("results" in answered) {
          const answer = { provider, results: answered.results, failed, isCached: false };
          if (answered.results.length > 0) keepNewest(cache, key, { answer, at: now() }, MAX_CACHED);
          return answer;
        }
        failed.push({ provider, reason: answered.failed });
        if ("restMs" in answered && answered.restMs)
          pauses.set(provider, { since: now(), until: now() + answered.restMs });
      }
      throw allFailed(failed, quoted);
    },
  };
}

function allFailed(failed: SearchAnswer["failed"], outside: readonly OutsideSource[]): GoaldError {
  const each = failed.map(({ provider, reason }) => `${provider}: ${reason}`).join("; ");
  return new GoaldError("GOALD_SEARCH", `The search could not be made, so nobody knows what there is. ${each}.`, {
    hint: "Try again later, or read a page whose address you know. A person can set up more of TAVILY_API_KEY, SERPER_API_KEY, BRAVE_API_KEY and SEARXNG_URL.",
    outside,
  });
}

export type ProviderAnswer =
  /** Empty if the provider says that it found nothing. */
  | { readonly results: readonly SearchResult[] }
  /** The reason for a failure. `restMs`: time during which another request is useless. */
  | { readonly failed: string; readonly restMs?: number };

export interface SearchProvider {
  readonly name: string;
  /** Rejects with network errors as they are. */
  search(query: string, count: number, signal: AbortSignal): Promise<ProviderAnswer>;
}

export const PROVIDER_LIMITS = {
  maxBytes: 2 * 1024 * 1024,
  firstByteTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  totalTimeoutMs: 15_000,
};

const LIMITED_MS = 60_000;
const MAX_PROVIDER_REST_MS = 60 * 60_000;

/** Returns undefined for status 200. */
export function explainProviderStatus(answer: Pick<Response, "status" | "headers">): ProviderAnswer | undefined {
  const { status, headers } = answer;
  if (status === 200) return undefined;
  if (status === 401 || status === 403) return { failed: `it refuses the key (${status})` };
  if (status === 402) return { failed: "its credit is used up (402)" };
  // Tavily answers 432 and 433 at the limits of its plans.
  if (status === 429 || status === 432 || status === 433) {
    const restMs = Math.min(parseRetryAfter(headers) ?? LIMITED_MS, MAX_PROVIDER_REST_MS);
    return { failed: `its limit is reached (${status})`, restMs };
  }
  if (status === 202) return { failed: "it takes goald for a robot (202)", restMs: LIMITED_MS };
  if (status >= 500) return { failed: `it has an error of its own (${status})` };
  return { failed: `it answered with ${status}` };
}

export const UNREADABLE_ANSWER = "its answer is not in the form that it should have";

const TITLE_CHARS = 200;
const BODY_CHARS = 700;
const HREF_CHARS = 2_000;
/** The rest of a longer field is ignored. */
const MAX_FIELD_CHARS = 20_000;

/** Returns undefined for a result without a valid address. */
function readResult(title: unknown, href: unknown, body: unknown): SearchResult | undefined {
  const address = readHref(href);
  if (address === undefined) return undefined;
  return { title: toPlainText(title, TITLE_CHARS) || address, href: address, body: toPlainText(body, BODY_CHARS) };
}

/** Returns at most `count` results, each address once. */
export function readResults(
  rows: Iterable<readonly [title: unknown, href: unknown, body: unknown]>,
  count: number,
): readonly SearchResult[] {
  const byHref = new Map<string, SearchResult>();
  for (const row of rows) {
    const result = readResult(...row);
    if (result && !byHref.has(result.href)) byHref.set(result.href, result);
    if (byHref.size === count) break;
  }
  return [...byHref.values()];
}

function readHref(href: unknown): string | undefined {
  const url = typeof href === "string" && href.length <= HREF_CHARS ? URL.parse(href) : null;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

/** Removes highlighting tags and invisible characters, and decodes entities. */
function toPlainText(value: unknown, limit: number): string {
  const text = typeof value === "string" ? value.slice(0, MAX_FIELD_CHARS) : "";
  const visible = clean(decodeEntities(text.replace(TAG, "")))
    .replace(INVISIBLE, "")
    .toWellFormed();
  return oneLine(visible, limit);
}

const TAG = /<\/?[a-z][^<>]{0,300}>/gi;
/** The last range holds tag characters, which hide text from people but not from models. */
const INVISIBLE = /[\u00ad\u200b\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu;

const decodeEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
