/**
 * search-services.ts -- the search providers with a JSON API: Tavily, Serper, Brave, and a self-hosted SearXNG.
 *
 * Each declares an address, a request and where its answer has the rows. An answer without a list of them, or with no
 * row that has a title and an address, is unreadable. A provider's error text is never repeated: it may contain the key.
 */
import type { Http } from "#http/http.ts";
import { isRecord, type JsonRecord, parseJson } from "#util/json.ts";
import { createHostPace, type PoliteWebParts } from "./polite-web.ts";
import {
  explainProviderStatus,
  PROVIDER_LIMITS,
  type ProviderAnswer,
  readResults,
  type SearchProvider,
  UNREADABLE_ANSWER,
} from "./search.ts";

interface JsonSearchService {
  readonly name: string;
  readonly baseUrl: string;
  /** `path`: below the base URL, with the query. */
  request(query: string, count: number): { readonly path: string; readonly init: RequestInit };
  /** Returns the list of rows; anything else for an answer that cannot be read. */
  rows(answer: JsonRecord): unknown;
  /** Names of the row's fields for title, address and text. */
  readonly fields: readonly [title: string, href: string, body: string];
  /** Returns why an answer without rows counts as a failure. */
  excuse?(answer: JsonRecord): string | undefined;
  /** Failures that a status means for this provider only. */
  readonly statuses?: Readonly<Record<number, string>>;
}

export const tavily = (apiKey: string, baseUrl: string): JsonSearchService => ({
  name: "tavily",
  baseUrl,
  request: (query, count) => ({
    path: "/search",
    init: postJson({ query, max_results: count, search_depth: "basic" }, { authorization: `Bearer ${apiKey}` }),
  }),
  rows: ({ results }) => results,
  fields: ["title", "url", "content"],
});

export const serper = (apiKey: string, baseUrl: string): JsonSearchService => ({
  name: "serper",
  baseUrl,
  request: (query, count) => ({ path: "/search", init: postJson({ q: query, num: count }, { "x-api-key": apiKey }) }),
  rows: ({ organic }) => organic,
  fields: ["title", "link", "snippet"],
  statuses: { 400: "its credit is used up, or it does not take these words (400)" },
});

export const brave = (apiKey: string, baseUrl: string): JsonSearchService => ({
  name: "brave",
  baseUrl,
  request: (query, count) => ({
    path: `/res/v1/web/search?${new URLSearchParams({ q: query, count: String(Math.min(count, 20)) })}`,
    init: { headers: { accept: "application/json", "x-subscription-token": apiKey } },
  }),
  // Brave leaves out `web` if it found nothing.
  rows: ({ type, web = { results: [] } }) => type === "search" && isRecord(web) && web.results,
  fields: ["title", "url", "description"],
  statuses: { 422: "it refuses the key, or these words (422)" },
});

export const searxng = (baseUrl: string): JsonSearchService => ({
  name: "searxng",
  baseUrl,
  request: (query) => ({
    path: `/search?${new URLSearchParams({ q: query, format: "json" })}`,
    init: { headers: { accept: "application/json" } },
  }),
  rows: ({ results }) => results,
  fields: ["title", "url", "content"],
  // SearXNG queries other engines. If some failed, "no results" cannot be trusted.
  excuse: ({ unresponsive_engines: silent }) =>
    Array.isArray(silent) && silent.length > 0
      ? `${silent.length} of the engines that it asks did not answer`
      : undefined,
  statuses: { 403: "it does not give JSON to programs: add json to the formats in its settings (403)" },
});

export function createServiceProvider(service: JsonSearchService, http: Pick<Http, "to">): SearchProvider {
  const { name, baseUrl } = service;
  return {
    name,
    async search(query, count, signal) {
      const { path, init } = service.request(query, count);
      const send = http.to(baseUrl, PROVIDER_LIMITS);
      const response = await send(`${baseUrl.replace(/\/+$/, "")}${path}`, { ...init, signal });
      const words = service.statuses?.[response.status];
      const failure = words ? { failed: words } : explainProviderStatus(response);
      if (failure) {
        await response.body?.cancel();
        return failure;
      }
      return readServiceAnswer(service, parseJson(await response.text()), count);
    },
  };
}

function readServiceAnswer(
  { rows, fields, excuse }: JsonSearchService,
  answer: unknown,
  count: number,
): ProviderAnswer {
  const given = isRecord(answer) ? rows(answer) : undefined;
  if (!isRecord(answer) || !Array.isArray(given)) return { failed: UNREADABLE_ANSWER };
  const [title, href, body] = fields;
  const titled = given.filter(isRecord).filter((one) => typeof one[title] === "string");
  const results = readResults(
    titled.map((one) => [one[title], one[href], one[body]] as const),
    count,
  );
  if (results.length > 0) return { results };
  if (given.length > 0) return { failed: UNREADABLE_ANSWER };
  const words = excuse?.(answer);
  return words ? { failed: words } : { results };
}

const postJson = (body: object, headers: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json", ...headers },
  body: JSON.stringify(body),
});

interface DuckDuckGoParts extends Omit<PoliteWebParts, "obeysRobots"> {
  readonly baseUrl: string;
}

/** Further requests would extend the block. */
const BLOCKED: ProviderAnswer = { failed: "it takes goald for a robot", restMs: 5 * 60_000 };

/**
 * Searches with DuckDuckGo's page for browsers without scripts. It needs no key, and is last in the chain. A CAPTCHA
 * page looks much like a page without results. Only an explicit "no results" counts as none; a page that is not
 * understood is a failure.
 */
export function createDuckDuckGo({ baseUrl, http, clock, userAgent }: DuckDuckGoParts): SearchProvider {
  const pace = createHostPace(clock);
  return {
    name: "duckduckgo",
    async search(query, count, signal) {
      const url = new URL(`${baseUrl.replace(/\/+$/, "")}/html/`);
      await pace.waitTurn(url.host, 0, signal);
      const send = http.public(PROVIDER_LIMITS);
      const headers = {
        accept: "text/html",
        "accept-language": "en",
        "content-type": "application/x-www-form-urlencoded",
        "user-agent": userAgent,
      };
      const body = new URLSearchParams({ q: query }).toString();
      const response = await send(url, { method: "POST", headers, body, signal });
      const failure = response.status === 403 ? BLOCKED : explainProviderStatus(response);
      if (failure) {
        await response.body?.cancel();
        return failure;
      }
      return readResultPage(await response.text(), count);
    },
  };
}

async function readResultPage(html: string, count: number): Promise<ProviderAnswer> {
  const { parseHTML } = await import("linkedom");
  const { document } = parseHTML(html);
  if (document.querySelector("[class*='anomaly-modal'], #challenge-form, form[action*='anomaly']")) return BLOCKED;
  const found = [...document.querySelectorAll(".result")].filter(
    (result) => !/\bresult--(?:ad|no-result)\b/.test(result.getAttribute("class") ?? ""),
  );
  const rows = found.map((result) => {
    const link = result.querySelector("a.result__a");
    const text = result.querySelector(".result__snippet")?.textContent;
    return [link?.textContent, unwrapTarget(link?.getAttribute("href") ?? ""), text] as const;
  });
  const results = readResults(rows, count);
  if (results.length > 0) return { results };
  const saysNoResults = document.querySelector(".no-results, .result--no-result") !== null;
  return saysNoResults && found.length === 0 ? { results } : { failed: "its page could not be read" };
}

/** Unwraps DuckDuckGo's redirect address. Any other link to DuckDuckGo itself is an advertisement. */
function unwrapTarget(href: string): string | undefined {
  const base = "https://duckduckgo.com/";
  const url = URL.parse(href, base);
  if (!url) return undefined;
  const target = url.searchParams.get("uddg");
  if (target !== null && url.pathname === "/l/") return target;
  return /(?:^|\.)duckduckgo\.com$/.test(url.hostname) ? undefined : url.href;
}
