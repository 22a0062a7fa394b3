/** service-servers.ts -- servers on loopback for search, pictures, speech, X and plain pages. */
import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { closed, createAjv, oneOf, type Schema, type Static, text } from "#util/schema.ts";
import { listArrivals, listenOnLoopback } from "./loopback.ts";
import { type Answer, failure, type RawAnswer, sendAnswer, unauthorized } from "./openai-server.ts";
import { pngOf } from "./react-methods/commands/_picture.ts";

interface ServiceRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export type ServiceServer = Awaited<ReturnType<typeof startServiceServer>>;

export async function startServiceServer(reply: (request: ServiceRequest, index: number) => Answer | Promise<Answer>) {
  const requests = listArrivals<ServiceRequest>();
  const listening = await listenOnLoopback(async (incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming).catch(() => []));
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body };
    const index = requests.add(request);
    sendAnswer(await reply(request, index), outgoing);
  });
  return {
    /** For example http://127.0.0.1:4000 */
    origin: listening.origin,
    requests: requests.all,
    /** Number of connections, with or without a request. */
    get connections() {
      return listening.connections;
    },
    /** Resolves after `count` requests. */
    asked: requests.reach,
    [Symbol.asyncDispose]: listening.close,
  };
}

// OpenAI's images and transcriptions on loopback, with strict checks; and pictures and recordings to send.

export const MEDIA_KEY = "sk-media-0123456789abcdef";

export type ImageRequest = Static<typeof IMAGE_REQUEST>;
export interface SpeechRequest {
  readonly model: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly language: string | null;
}
export type MediaServer = Awaited<ReturnType<typeof startMediaServer>>;

const IMAGE_REQUEST = {
  ...closed(
    {
      model: { ...text, minLength: 1 },
      prompt: { ...text, minLength: 1, maxLength: 32_000 },
      size: { ...text, pattern: "^([0-9]+x[0-9]+|auto)$" },
      n: { const: 1 },
      response_format: oneOf("b64_json"),
    },
    "response_format",
  ),
  // The service rejects response_format for its present models.
  if: { properties: { model: { type: "string", pattern: "^gpt-image" } } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { not: { required: ["response_format"] } },
};
const isImageRequest = createAjv({}).compile<ImageRequest>(IMAGE_REQUEST);

export interface MediaReplies {
  readonly image?: (request: ImageRequest, server: string) => Answer;
  readonly speech?: (request: SpeechRequest) => Answer;
  /** Answers requests outside of /v1. */
  readonly other?: (request: ServiceRequest) => Answer;
}

/** The base URL ends in /v1. */
export async function startMediaServer(replies: MediaReplies = {}) {
  const images: ImageRequest[] = [];
  const recordings: SpeechRequest[] = [];
  const violations: string[] = [];
  const violation = (problem: string): Answer => {
    violations.push(problem);
    return failure(400, problem);
  };
  const server: ServiceServer = await startServiceServer(async (request) => {
    const { method, path, headers, body } = request;
    if (replies.other && !path.startsWith("/v1/")) return replies.other(request);
    if (headers.authorization !== `Bearer ${MEDIA_KEY}`) return unauthorized(headers.authorization);
    switch (`${method} ${path}`) {
      case "POST /v1/images/generations": {
        const asked: unknown = JSON.parse(body.toString("utf8"));
        if (!isImageRequest(asked)) return violation(JSON.stringify(isImageRequest.errors));
        images.push(asked);
        return replies.image?.(asked, server.origin) ?? pictureAnswer(png(1024, 1024));
      }
      case "POST /v1/audio/transcriptions": {
        const asked = await readForm(request);
        if (typeof asked === "string") return violation(asked);
        recordings.push(asked);
        return replies.speech?.(asked) ?? { status: 200, body: { text: "hello world" } };
      }
      default:
        return violation(`${method} ${path}`);
    }
  });
  return Object.assign(server, { baseUrl: `${server.origin}/v1`, images, recordings, violations });
}

export const pictureAnswer = (bytes: Uint8Array, more: object = {}): Answer => ({
  status: 200,
  body: { created: 1, data: [{ b64_json: Buffer.from(bytes).toString("base64"), ...more }] },
});

/** Returns the request, or what is wrong with it. */
async function readForm({ headers, body }: ServiceRequest): Promise<SpeechRequest | string> {
  const type = headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data; boundary=")) return `content type ${type}`;
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const strangers = [...form.keys()].filter((name) => !["file", "model", "response_format", "language"].includes(name));
  if (strangers.length > 0) return `unknown fields ${strangers}`;
  const [file, model, format, language] = ["file", "model", "response_format", "language"].map((name) =>
    form.get(name),
  );
  if (typeof file !== "object" || file === null) return "no file";
  if (typeof model !== "string" || format !== "json") return `model ${String(model)}, format ${String(format)}`;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { model, name: file.name, bytes, language: typeof language === "string" ? language : null };
}

// ---------------------------------------------------------------- pictures

/** Returns a complete grey picture. */
export const png = (width: number, height: number): Uint8Array =>
  pngOf(width, height, 0, Buffer.alloc((width + 1) * height));

/** Returns the beginning of a JPEG: an application segment, then the frame. */
export function jpeg(width: number, height: number): Uint8Array {
  const frame = Buffer.from("ffc2001108000000000301220002110103110", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return new Uint8Array(Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"), frame]));
}

export function webp(kind: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Uint8Array {
  const bytes = Buffer.alloc(40);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(32, 4);
  bytes.write(`WEBP${kind}`, 8, "latin1");
  if (kind === "VP8 ") {
    bytes.set([0x9d, 0x01, 0x2a], 23);
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(height, 28);
  } else if (kind === "VP8L") {
    bytes[20] = 0x2f;
    bytes.writeUInt32LE((width - 1) | ((height - 1) << 14), 21);
  } else {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  }
  return new Uint8Array(bytes);
}

/** Returns a second of silence. */
export function wav(): Uint8Array {
  const samples = 8_000;
  const bytes = Buffer.alloc(44 + samples, 0x80);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(36 + samples, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(samples, 24);
  bytes.writeUInt32LE(samples, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(samples, 40);
  return new Uint8Array(bytes);
}

// Tavily, Serper, Brave, SearXNG and DuckDuckGo's page on loopback.
//
// Each server checks requests by its own schema, has one key, and answers in its own format with the given hits.

export const SEARCH_KEY = "search-planted-5Lx8Qz2k";
export const NAMES = ["tavily", "serper", "brave", "searxng", "duckduckgo"] as const;
export type Name = (typeof NAMES)[number];
export interface Hit {
  readonly title: string;
  readonly href: string;
  readonly body: string;
}

export type SearchServer = Awaited<ReturnType<typeof startSearchServer>>;

/** `hits`: those of every search, or of a searched text. `reply` replaces the hits in answers to valid requests. */
export async function startSearchServer(
  name: Name,
  hits: readonly Hit[] | ((searched: string) => readonly Hit[]),
  reply: (index: number) => Answer | undefined = () => undefined,
) {
  const violations: string[] = [];
  /** All searched texts. */
  const queries: string[] = [];
  const { schema, key, query, answer } = SERVICES[name];
  const check = ajv.compile(schema);
  const server = await startServiceServer((request, index) => {
    const asked = read(request);
    if (key && request.headers[key[0]] !== key[1]) return { status: 401, body: { detail: `Wrong key ${SEARCH_KEY}` } };
    if (!check(asked)) {
      violations.push(`${request.method} ${request.path}: ${JSON.stringify(check.errors)}`);
      return { status: 400, body: "Invalid request." };
    }
    const searched = query(asked as never);
    queries.push(searched);
    return reply(index) ?? answer(typeof hits === "function" ? hits(searched) : hits);
  });
  return Object.assign(server, { violations, queries });
}

const ajv = createAjv({ strict: false });

type Asked = ReturnType<typeof read>;

function read({ method, path, headers, body }: ServiceRequest) {
  const url = new URL(path, "http://x");
  const text = body.toString();
  const isForm = headers["content-type"] === "application/x-www-form-urlencoded";
  const content: unknown =
    text === "" ? null : isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
  return { method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers, body: content };
}

interface Service {
  readonly schema: object;
  readonly key?: readonly [header: string, value: string];
  query(asked: Asked): string;
  answer(hits: readonly Hit[]): RawAnswer;
}

const words = { ...text, minLength: 1, maxLength: 400 };
type Headers = Readonly<Record<string, Schema>>;
const asks = (method: string, path: string, parts: { query?: Schema; body?: Schema; headers?: Headers }) =>
  closed({
    method: { const: method },
    path: { const: path },
    query: parts.query ?? closed({}),
    headers: {
      type: "object",
      properties: { cookie: false, ...parts.headers },
      required: Object.keys(parts.headers ?? {}),
    },
    body: parts.body ?? { type: "null" },
  });
const json = { "content-type": { const: "application/json" } };
const ok = (body: object): RawAnswer => ({ status: 200, body });

const SERVICES: Readonly<Record<Name, Service>> = {
  tavily: {
    key: ["authorization", `Bearer ${SEARCH_KEY}`],
    schema: asks("POST", "/search", {
      headers: json,
      body: closed({
        query: words,
        max_results: { type: "integer", minimum: 0, maximum: 20 },
        search_depth: { enum: ["basic", "advanced"] },
      }),
    }),
    query: ({ body }) => (body as { query: string }).query,
    answer: (hits) =>
      ok({ results: hits.map(({ title, href, body }) => ({ title, url: href, content: body, score: 0.9 })) }),
  },
  serper: {
    key: ["x-api-key", SEARCH_KEY],
    schema: asks("POST", "/search", {
      headers: json,
      body: closed({ q: words, num: { type: "integer", minimum: 1, maximum: 100 } }),
    }),
    query: ({ body }) => (body as { q: string }).q,
    answer: (hits) =>
      ok({ organic: hits.map(({ title, href, body }) => ({ title, link: href, snippet: body })), credits: 1 }),
  },
  brave: {
    key: ["x-subscription-token", SEARCH_KEY],
    schema: asks("GET", "/res/v1/web/search", {
      query: closed({ q: words, count: { type: "string", pattern: "^(?:[1-9]|1\\d|20)$" } }),
      headers: { accept: { const: "application/json" } },
    }),
    query: ({ query }) => query.q as string,
    answer: (hits) => {
      const results = hits.map(({ title, href, body }) => ({ title, url: href, description: body, language: "en" }));
      return ok({ type: "search", ...(hits.length > 0 ? { web: { results } } : {}) });
    },
  },
  searxng: {
    schema: asks("GET", "/search", { query: closed({ q: words, format: { const: "json" } }) }),
    query: ({ query }) => query.q as string,
    answer: (hits) => {
      const results = hits.map(({ title, href, body }) => ({ title, url: href, content: body, engine: "x" }));
      return ok({ query: "q", results, unresponsive_engines: [] });
    },
  },
  duckduckgo: {
    schema: asks("POST", "/html/", { body: closed({ q: words }), headers: { "user-agent": { pattern: "^goald/" } } }),
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

// X's API v2 on loopback, strict in its input: it computes each signature again from the request and the shared
// secrets, and rejects repeated posts and nonces.

export const X_KEYS = {
  consumerKey: "consumer-key-0123456789",
  consumerSecret: "consumer+secret/with=signs&more",
  accessToken: "4242-access-token",
  accessTokenSecret: "token-secret-ABCDEF",
};
export const X_ENVIRONMENT = {
  TW_CONSUMER_KEY: X_KEYS.consumerKey,
  TW_CONSUMER_SECRET: X_KEYS.consumerSecret,
  TW_ACCESS_TOKEN: X_KEYS.accessToken,
  TW_ACCESS_TOKEN_SECRET: X_KEYS.accessTokenSecret,
};

const isPost = createAjv({}).compile<{ text: string }>(closed({ text: { ...text, minLength: 1 } }));

export type XServer = Awaited<ReturnType<typeof startXServer>>;

/** `reply` may replace X's own answer. */
export async function startXServer(
  reply: (text: string) => Answer | undefined = () => undefined,
  now: () => number = Date.now,
) {
  const posts: string[] = [];
  /** Violations of the API, each a sentence. */
  const violations: string[] = [];
  const nonces = new Set<string>();
  const server: ServiceServer = await startServiceServer((request) => {
    const fields = fieldsOf(request.headers.authorization ?? "");
    const problem = problemWith(request, fields, nonces, server.origin, now());
    if (problem) {
      violations.push(problem);
      return problemAnswer(401, "Unauthorized", "Unauthorized");
    }
    const body: unknown = JSON.parse(request.body.toString("utf8"));
    if (!isPost(body)) {
      violations.push(JSON.stringify(isPost.errors));
      return problemAnswer(400, "Invalid Request", "One or more parameters to your request was invalid.");
    }
    const { text } = body;
    const scripted = reply(text);
    if (scripted !== undefined) return scripted;
    if (posts.includes(text))
      return problemAnswer(403, "Forbidden", "You are not allowed to create a Tweet with duplicate content.");
    const id = `17000000000000000${String(posts.push(text)).padStart(2, "0")}`;
    return { status: 201, body: { data: { id, text, edit_history_tweet_ids: [id] } } };
  });
  return Object.assign(server, { posts, violations });
}

export const problemAnswer = (status: number, title: string, detail: string, headers = {}): Answer => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: { title, detail, type: "about:blank", status },
});

function problemWith(
  { method, path, headers }: ServiceRequest,
  fields: ReadonlyMap<string, string>,
  nonces: Set<string>,
  origin: string,
  now: number,
): string | undefined {
  if (method !== "POST" || path !== "/2/tweets") return `${method} ${path}`;
  if (headers["content-type"] !== "application/json") return `content type ${headers["content-type"]}`;
  const names = ["consumer_key", "nonce", "signature", "signature_method", "timestamp", "token", "version"];
  if ([...fields.keys()].sort().join() !== names.map((name) => `oauth_${name}`).join())
    return `fields ${[...fields.keys()]}`;
  const nonce = fields.get("oauth_nonce") ?? "";
  if (nonces.has(nonce) || nonce.length < 16) return `nonce ${nonce}`;
  nonces.add(nonce);
  if (Math.abs(Number(fields.get("oauth_timestamp")) - now / 1000) > 300)
    return `timestamp ${fields.get("oauth_timestamp")}`;
  if (fields.get("oauth_signature") !== signature(method, origin + path, fields)) return "signature";
  return undefined;
}

function fieldsOf(header: string): ReadonlyMap<string, string> {
  if (!header.startsWith("OAuth ")) return new Map();
  return new Map(
    header
      .slice(6)
      .split(/,\s*/)
      .map((field) => /^(\w+)="([^"]*)"$/.exec(field))
      .map((match) => [match?.[1] ?? "", decodeURIComponent(match?.[2] ?? "")] as const),
  );
}

/** RFC 5849, implemented byte by byte and independently of goald's own code. */
function signature(method: string, address: string, fields: ReadonlyMap<string, string>): string {
  const signed = [...fields].filter(([name]) => name !== "oauth_signature");
  const pairs = signed.map(([name, value]) => `${octets(name)}=${octets(value)}`).sort();
  const base = `${method}&${octets(address)}&${octets(pairs.join("&"))}`;
  const key = `${octets(X_KEYS.consumerSecret)}&${octets(X_KEYS.accessTokenSecret)}`;
  return createHmac("sha1", key).update(base).digest("base64");
}

const octets = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9\-._~]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
