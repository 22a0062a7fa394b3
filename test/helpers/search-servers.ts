/**
 * search-servers.ts -- Tavily, Serper, Brave, SearXNG and DuckDuckGo's page on loopback.
 *
 * Each server checks requests by its own schema, has one key, and answers in its own format with the given hits.
 */
import { createAjv } from "#util/schema.ts";
import type { Answer, RawAnswer } from "./openai-answers.ts";
import { type ServiceRequest, type ServiceServer, startServiceServer } from "./service-server.ts";

export const SEARCH_KEY = "search-planted-5Lx8Qz2k";
export const NAMES = ["tavily", "serper", "brave", "searxng", "duckduckgo"] as const;
export type Name = (typeof NAMES)[number];
export interface Hit {
  readonly title: string;
  readonly href: string;
  readonly body: string;
}

export interface SearchServer extends Pick<ServiceServer, "origin" | "requests">, AsyncDisposable {
  /** Violations of the schema. */
  readonly violations: readonly string[];
  /** All searched texts. */
  readonly queries: readonly string[];
}

/** `reply` replaces the hits in answers to valid requests. */
export async function startSearchServer(
  name: Name,
  hits: readonly Hit[],
  reply: (index: number) => Answer | undefined = () => undefined,
): Promise<SearchServer> {
  const violations: string[] = [];
  const queries: string[] = [];
  const { schema, key, query, answer } = SERVICES[name];
  const check = checkOf(schema);
  const server = await startServiceServer((request, index) => {
    const asked = read(request);
    if (key && request.headers[key[0]] !== key[1]) return { status: 401, body: { detail: `Wrong key ${SEARCH_KEY}` } };
    if (!check(asked)) {
      violations.push(`${request.method} ${request.path}: ${JSON.stringify(check.errors)}`);
      return { status: 400, body: "Invalid request." };
    }
    queries.push(query(asked as never));
    return reply(index) ?? answer(hits);
  });
  const { origin, requests } = server;
  return { origin, requests, violations, queries, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const ajv = createAjv({ strict: false });
/** Compiles a schema once. */
const checkOf = (schema: object) => ajv.compile(schema);

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

function read({ method, path, headers, body }: ServiceRequest): Asked {
  const url = new URL(path, "http://x");
  const text = body.toString();
  const isForm = headers["content-type"] === "application/x-www-form-urlencoded";
  const content = text === "" ? null : isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
  return { method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers, body: content };
}

interface Service {
  readonly schema: object;
  readonly key?: readonly [header: string, value: string];
  query(asked: Asked): string;
  answer(hits: readonly Hit[]): RawAnswer;
}

const words = { type: "string", minLength: 1, maxLength: 400 };
const only = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});
const asks = (method: string, path: string, parts: { query?: object; body?: object; headers?: object }) =>
  only({
    method: { const: method },
    path: { const: path },
    query: parts.query ?? only({}),
    headers: {
      type: "object",
      properties: { cookie: false, ...parts.headers },
      required: Object.keys(parts.headers ?? {}),
    },
    body: parts.body ?? { type: "null" },
  });
const json = { "content-type": { const: "application/json" } };

const SERVICES: Readonly<Record<Name, Service>> = {
  tavily: {
    key: ["authorization", `Bearer ${SEARCH_KEY}`],
    schema: asks("POST", "/search", {
      headers: json,
      body: only({
        query: words,
        max_results: { type: "integer", minimum: 0, maximum: 20 },
        search_depth: { enum: ["basic", "advanced"] },
      }),
    }),
    query: ({ body }) => (body as { query: string }).query,
    answer: (hits) => ({
      status: 200,
      body: {
        query: "q",
        answer: null,
        images: [],
        results: hits.map(({ title, href, body }) => ({
          title,
          url: href,
          content: body,
          score: 0.9,
          raw_content: null,
        })),
        response_time: 0.5,
      },
    }),
  },
  serper: {
    key: ["x-api-key", SEARCH_KEY],
    schema: asks("POST", "/search", {
      headers: json,
      body: only({ q: words, num: { type: "integer", minimum: 1, maximum: 100 } }),
    }),
    query: ({ body }) => (body as { q: string }).q,
    answer: (hits) => ({
      status: 200,
      body: {
        searchParameters: { q: "q", type: "search", engine: "google" },
        organic: hits.map(({ title, href, body }, index) => ({
          title,
          link: href,
          snippet: body,
          position: index + 1,
        })),
        credits: 1,
      },
    }),
  },
  brave: {
    key: ["x-subscription-token", SEARCH_KEY],
    schema: asks("GET", "/res/v1/web/search", {
      query: only({ q: words, count: { type: "string", pattern: "^(?:[1-9]|1\\d|20)$" } }),
      headers: { accept: { const: "application/json" } },
    }),
    query: ({ query }) => query.q as string,
    answer: (hits) => ({
      status: 200,
      body: {
        type: "search",
        query: { original: "q" },
        ...(hits.length > 0
          ? {
              web: {
                type: "search",
                results: hits.map(({ title, href, body }) => ({ title, url: href, description: body, language: "en" })),
              },
            }
          : {}),
      },
    }),
  },
  searxng: {
    schema: asks("GET", "/search", { query: only({ q: words, format: { const: "json" } }) }),
    query: ({ query }) => query.q as string,
    answer: (hits) => ({
      status: 200,
      body: {
        query: "q",
        number_of_results: 0,
        results: hits.map(({ title, href, body }) => ({ title, url: href, content: body, engine: "x", score: 1 })),
        answers: [],
        unresponsive_engines: [],
      },
    }),
  },
  duckduckgo: {
    schema: asks("POST", "/html/", { body: only({ q: words }), headers: { "user-agent": { pattern: "^goald/" } } }),
    query: ({ body }) => (body as { q: string }).q,
    answer: (hits) => page(hits.length > 0 ? hits.map(pageResult).join("\n") : NO_RESULTS),
  },
};

/** The page for browsers without scripts: its links lead through DuckDuckGo, and the first hit is an advertisement. */
export const page = (content: string, status = 200): RawAnswer => ({
  status,
  headers: { "content-type": "text/html; charset=UTF-8" },
  body: `<!DOCTYPE html><html><head><title>q at DuckDuckGo</title></head><body class="body--html">
<form id="search_form_homepage" action="/html/" method="post"><input name="q" value="q"></form>
<div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title">
<a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;uddg=https%3A%2F%2Fshop.example">Buy now</a></h2>
<a class="result__snippet" href="#">An advertisement.</a></div>
${content}
</div></body></html>`,
});

const pageResult = ({ title, href, body }: Hit): string => `
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=${encodeURIComponent(href)}&amp;rut=abc">${title}</a></h2>
<div class="result__extras"><a class="result__url" href="#">${href}</a></div>
<a class="result__snippet" href="#">${body}</a></div></div>`;

const NO_RESULTS =
  '<div class="result results_links results_links_deep result--no-result"><div class="no-results">No&nbsp; results.</div></div>';

/** The page for suspected robots. */
export const CHALLENGE =
  '<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form>';
