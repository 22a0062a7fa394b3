/**
 * pinecone-server.ts -- a Pinecone index on loopback: the data plane, and the controller's description of the index.
 *
 * Strict in its input: a request that violates the schemas below, a wrong version header or another key is rejected
 * and noted in `violations`. Writes become visible after `visibleAfterMs`. Each write has a number in its namespace, and a
 * query returns the last visible number. It computes real cosines, so that a wrong neighbour is a wrong answer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseJson } from "#util/json.ts";
import { closed, createAjv, flag, listOf, recordOf, text } from "#util/schema.ts";
import { listenOnLoopback } from "./loopback.ts";

interface StoredRecord {
  readonly id: string;
  readonly values: readonly number[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
/** `lost`: the request is executed, but its answer does not arrive. */
type Trouble = (path: string, body: unknown) => Answer | "stall" | "cut" | "lost" | undefined;

export interface PineconeServerOptions {
  readonly dimension?: number;
  readonly metric?: string;
  readonly visibleAfterMs?: number;
  /** False: no numbers of writes and queries are sent, as with pods. */
  readonly tellsProgress?: boolean;
  /** The controller's description of the index; `host` is this server unless given. */
  readonly described?: Readonly<Record<string, unknown>>;
}

export type PineconeServer = Awaited<ReturnType<typeof startPineconeServer>>;

interface Write {
  readonly lsn: number;
  readonly at: number;
  apply(records: Map<string, StoredRecord>): void;
}
interface Namespace {
  readonly written: Map<string, StoredRecord>;
  readonly shown: Map<string, StoredRecord>;
  readonly waiting: Write[];
  lsn: number;
  shownLsn: number;
}

export const PINECONE_KEY = "pcsk_test_4fQ9wZ7xLm2";

export async function startPineconeServer(options: PineconeServerOptions = {}) {
  const { dimension = 3, metric = "cosine", visibleAfterMs = 0, tellsProgress = true } = options;
  const requests: { path: string; body: unknown }[] = [];
  const violations: string[] = [];
  const namespaces = new Map<string, Namespace>();
  const { origin, close } = await listenOnLoopback((incoming, outgoing) => void answer(incoming, outgoing));

  const pinecone = {
    url: origin,
    requests,
    violations,
    /** Called before each answer while it is set. */
    trouble: undefined as Trouble | undefined,
    /** All records of a namespace, also those not yet visible to queries. */
    records: (namespace: string): ReadonlyMap<string, StoredRecord> => namespaces.get(namespace)?.written ?? new Map(),
    namespaces: () => [...namespaces.keys()],
    /** Number of requests with this path. */
    count: (path: string): number => requests.filter((request) => request.path === path).length,
    close,
    [Symbol.asyncDispose]: close,
  };
  return pinecone;

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on("error", () => undefined);
    const body = parseJson(Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString("utf8"));
    const path = incoming.url ?? "";
    requests.push({ path, body });
    const trouble = pinecone.trouble?.(path, body);
    if (trouble === "stall") return;
    if (trouble === "cut") return void outgoing.destroy();
    const {
      status,
      body: given = {},
      headers = {},
    } = typeof trouble === "object" ? trouble : checked(incoming, path, body);
    if (trouble === "lost") return void outgoing.destroy();
    outgoing.writeHead(status, { "content-type": "application/json", ...headers });
    outgoing.end(typeof given === "string" ? given : JSON.stringify(given));
  }

  function checked({ headers, method }: IncomingMessage, path: string, body: unknown): Answer {
    if (headers["api-key"] !== PINECONE_KEY) return { status: 401, body: `Invalid API Key: ${headers["api-key"]}` };
    if (!/^20\d\d-\d\d$/.test(String(headers["x-pinecone-api-version"])))
      return violation(`no version of the API: ${headers["x-pinecone-api-version"]}`);
    if (method === "GET" && path.startsWith("/indexes/")) return describeIndex(path.slice("/indexes/".length));
    const check = Object.hasOwn(SCHEMAS, path) ? SCHEMAS[path] : undefined;
    if (method !== "POST" || !check)
      return { status: 404, body: { code: 5, message: `no such path ${method} ${path}` } };
    if (!check(body)) return violation(`${path}: ${ajv.errorsText(check.errors ?? [])}`);
    const { namespace = "__default__" } = body as { namespace?: string };
    if (path === "/describe_index_stats") return { status: 200, body: stats() };
    if (path === "/query") return query(namespace, body as QueryBody);
    if (path === "/vectors/upsert") return upsert(namespace, (body as { vectors: readonly StoredRecord[] }).vectors);
    return remove(namespace, (body as { ids: readonly string[] }).ids);
  }

  function violation(problem: string): Answer {
    violations.push(problem);
    return { status: 400, body: { code: 3, message: problem } };
  }

  function describeIndex(name: string): Answer {
    if (name !== "mem")
      return { status: 404, body: { error: { code: "NOT_FOUND", message: `Index ${name} not found` } } };
    const described = {
      name,
      host: pinecone.url,
      deployment: { deployment_type: "managed", cloud: "aws", region: "us-east-1" },
      schema: { fields: { _values: { type: "dense_vector", dimension, metric } } },
      status: { ready: true, state: "Ready" },
      deletion_protection: "disabled",
      ...options.described,
    };
    return { status: 200, body: described };
  }

  function stats() {
    const counts = [...namespaces].map(([name, { written }]) => [name, { vectorCount: written.size }]);
    return { namespaces: Object.fromEntries(counts), dimension, metric, vectorType: "dense", indexFullness: 0 };
  }

  function query(name: string, { vector, topK, filter }: QueryBody): Answer {
    if (vector.length !== dimension)
      return violation(`a query of ${vector.length} dimensions, the index has ${dimension}`);
    const namespace = namespaces.get(name);
    if (!namespace) return { status: 200, body: { matches: [], namespace: name, usage: { readUnits: 1 } } };
    catchUp(namespace);
    const matches = [...namespace.shown.values()]
      .filter(({ metadata }) => !filter || metadata?.embedder === filter.embedder.$eq)
      .map(({ id, values }) => ({ id, score: cosine(vector, values), values: [] }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
    const headers = tellsProgress ? { "x-pinecone-max-indexed-lsn": String(namespace.shownLsn) } : {};
    return { status: 200, headers, body: { matches, namespace: name, usage: { readUnits: 1 } } };
  }

  function upsert(name: string, vectors: readonly StoredRecord[]): Answer {
    const odd = vectors.find(({ values }) => values.length !== dimension);
    if (odd) return violation(`a vector of ${odd.values.length} dimensions, the index has ${dimension}`);
    return write(name, { upsertedCount: vectors.length }, (records) => {
      for (const vector of vectors) records.set(vector.id, vector);
    });
  }

  function remove(name: string, ids: readonly string[]): Answer {
    if (!namespaces.has(name)) return { status: 404, body: { code: 5, message: "Namespace not found", details: [] } };
    return write(name, {}, (records) => {
      for (const id of ids) records.delete(id);
    });
  }

  function write(name: string, body: unknown, apply: Write["apply"]): Answer {
    const namespace: Namespace = namespaces.get(name) ?? {
      written: new Map(),
      shown: new Map(),
      waiting: [],
      lsn: 0,
      shownLsn: 0,
    };
    namespaces.set(name, namespace);
    namespace.lsn++;
    apply(namespace.written);
    namespace.waiting.push({ lsn: namespace.lsn, at: performance.now() + visibleAfterMs, apply });
    return { status: 200, body, headers: tellsProgress ? { "x-pinecone-request-lsn": String(namespace.lsn) } : {} };
  }

  function catchUp(namespace: Namespace): void {
    for (let next = namespace.waiting[0]; next && next.at <= performance.now(); next = namespace.waiting[0]) {
      next.apply(namespace.shown);
      namespace.shownLsn = next.lsn;
      namespace.waiting.shift();
    }
  }
}

// ---------------------------------------------------------------- what requests may say

interface QueryBody {
  readonly vector: readonly number[];
  readonly topK: number;
  readonly filter?: { readonly embedder: { readonly $eq: string } };
}
const ajv = createAjv({ allErrors: true, allowUnionTypes: true });
const ascii = { ...text, minLength: 1, maxLength: 512, pattern: "^[\\x20-\\x7e]+$" };
const vector = listOf({ type: "number" }, { minItems: 1, maxItems: 20_000 });
/** Flat, and never null. */
const metadata = recordOf({ type: ["string", "number", "boolean"] });
const SCHEMAS: Readonly<Record<string, ReturnType<typeof ajv.compile>>> = {
  "/describe_index_stats": ajv.compile(closed({})),
  "/query": ajv.compile(
    closed(
      {
        namespace: ascii,
        vector,
        topK: { type: "integer", minimum: 1, maximum: 10_000 },
        includeValues: flag,
        includeMetadata: flag,
        filter: closed({ embedder: closed({ $eq: ascii }) }),
      },
      ...(["namespace", "includeValues", "includeMetadata", "filter"] as const),
    ),
  ),
  "/vectors/upsert": ajv.compile(
    closed(
      {
        namespace: ascii,
        vectors: listOf(closed({ id: ascii, values: vector, metadata }, "metadata"), { minItems: 1, maxItems: 1_000 }),
      },
      "namespace",
    ),
  ),
  "/vectors/delete": ajv.compile(
    closed({ namespace: ascii, ids: listOf(ascii, { minItems: 1, maxItems: 1_000 }) }, "namespace"),
  ),
};

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  return dot / (Math.hypot(...a) * Math.hypot(...b));
}
