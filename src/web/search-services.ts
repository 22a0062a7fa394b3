/**
 * search-services.ts -- the providers that answer in JSON: Tavily, Serper, Brave, and a SearXNG of one's own.
 *
 * Each is an address, a request, and the schema of its answer; what is added to an answer later does not matter, what is
 * missing or of another type makes it unreadable. Nothing that a provider says of an error is repeated: it may hold the key.
 */
import type { ValidateFunction } from "ajv";
import type { Http } from "#http/http.ts";
import { parseJson } from "#util/json.ts";
import {
  failureOfStatus,
  PROVIDER_LIMITS,
  type ProviderAnswer,
  type SearchProvider,
  UNREADABLE,
} from "./search-provider.ts";
import { readResults } from "./search-text.ts";

interface Service {
  readonly name: string;
  readonly baseUrl: string;
  /** Below the base, with its query. */
  request(query: string, count: number): { readonly path: string; readonly init: RequestInit };
  readonly schema: object;
  /** Of an answer that keeps to the schema: its rows, each to be checked by itself. */
  rows(answer: never): readonly unknown[];
  /** The fields of title, address and text in a row. */
  readonly fields: readonly [title: string, href: string, body: string];
  /** Why an answer without rows is none. */
  excuse?(answer: never): string | undefined;
  /** What a status means here and nowhere else. */
  readonly statuses?: Readonly<Record<number, string>>;
}

const row = { type: "object" } as const;
const list = { type: "array", maxItems: 1_000, items: row } as const;
const withRows = (name: string) => ({ type: "object", required: [name], properties: { [name]: list } });

export const tavily = (apiKey: string, baseUrl: string): Service => ({
  name: "tavily",
  baseUrl,
  request: (query, count) => ({
    path: "/search",
    init: asJson({ query, max_results: count, search_depth: "basic" }, { authorization: `Bearer ${apiKey}` }),
  }),
  schema: withRows("results"),
  rows: ({ results }: { results: unknown[] }) => results,
  fields: ["title", "url", "content"],
});

export const serper = (apiKey: string, baseUrl: string): Service => ({
  name: "serper",
  baseUrl,
  request: (query, count) => ({ path: "/search", init: asJson({ q: query, num: count }, { "x-api-key": apiKey }) }),
  schema: withRows("organic"),
  rows: ({ organic }: { organic: unknown[] }) => organic,
  fields: ["title", "link", "snippet"],
});

export const brave = (apiKey: string, baseUrl: string): Service => ({
  name: "brave",
  baseUrl,
  request: (query, count) => ({
    path: `/res/v1/web/search?${new URLSearchParams({ q: query, count: String(Math.min(count, 20)) })}`,
    init: { headers: { accept: "application/json", "x-subscription-token": apiKey } },
  }),
  // Without anything found there is no `web` at all.
  schema: { type: "object", required: ["type"], properties: { type: { const: "search" }, web: withRows("results") } },
  rows: ({ web }: { web?: { results: unknown[] } }) => web?.results ?? [],
  fields: ["title", "url", "description"],
});

export const searxng = (baseUrl: string): Service => ({
  name: "searxng",
  baseUrl,
  request: (query) => ({
    path: `/search?${new URLSearchParams({ q: query, format: "json" })}`,
    init: { headers: { accept: "application/json" } },
  }),
  schema: { ...withRows("results"), properties: { results: list, unresponsive_engines: { type: "array" } } },
  rows: ({ results }: { results: unknown[] }) => results,
  fields: ["title", "url", "content"],
  // It asks others, and says so when they did not answer: then nobody knows that there is nothing.
  excuse: ({ unresponsive_engines: silent = [] }: { unresponsive_engines?: unknown[] }) =>
    silent.length > 0 ? `${silent.length} of the engines that it asks did not answer` : undefined,
  statuses: { 403: "it does not give JSON to programs: add json to the formats in its settings (403)" },
});

export function createServiceProvider(service: Service, http: Pick<Http, "to">): SearchProvider {
  const { name, baseUrl } = service;
  let check: Promise<Checks> | undefined;
  return {
    name,
    async search(query, count, signal) {
      const { path, init } = service.request(query, count);
      const send = http.to(baseUrl, PROVIDER_LIMITS);
      const response = await send(`${baseUrl.replace(/\/+$/, "")}${path}`, { ...init, signal });
      const words = service.statuses?.[response.status];
      const failure = words ? { failed: words } : failureOfStatus(response);
      if (failure) {
        await response.body?.cancel();
        return failure;
      }
      const answer = parseJson(await response.text());
      check ??= compile(service);
      return read(service, await check, answer, count);
    },
  };
}

interface Checks {
  readonly answer: ValidateFunction;
  readonly row: ValidateFunction;
}

async function compile({ schema, fields: [title, href, body] }: Service): Promise<Checks> {
  const { Ajv } = await import("ajv");
  const ajv = new Ajv({ strict: false });
  const text = { type: "string" };
  const properties = { [title]: text, [href]: text, [body]: { type: ["string", "null"] } };
  return { answer: ajv.compile(schema), row: ajv.compile({ type: "object", required: [title, href], properties }) };
}

function read(service: Service, checks: Checks, answer: unknown, count: number): ProviderAnswer {
  if (!checks.answer(answer)) return { failed: UNREADABLE };
  const given = service.rows(answer as never);
  const [title, href, body] = service.fields;
  const sound = given.filter((one): one is Record<string, unknown> => checks.row(one));
  const results = readResults(
    sound.map((one) => [one[title], one[href], one[body]] as const),
    count,
  );
  if (results.length > 0) return { results };
  if (given.length > 0) return { failed: UNREADABLE };
  const excuse = service.excuse?.(answer as never);
  return excuse ? { failed: excuse } : { results };
}

const asJson = (body: object, headers: Readonly<Record<string, string>>): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json", ...headers },
  body: JSON.stringify(body),
});
