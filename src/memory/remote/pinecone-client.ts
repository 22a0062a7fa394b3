/**
 * pinecone-client.ts -- calls Pinecone through its own client, which is loaded on first use.
 *
 * The client takes our fetch, so every request uses the configured HTTP door. Its retries are off;
 * pinecone.ts decides about retries. Each call creates a client (0.05 ms) with its own time limit and reads
 * the raw answer, because the client drops sequence numbers and the metric. Errors say what a person can do and never
 * hold the key.
 */
import type { Pinecone } from "@pinecone-database/pinecone";
import { GoaldError, orUndefined } from "#core/errors.ts";
import type { MemoryRow } from "#core/ports/memory.ts";
import { isRecord, parseJson } from "#util/json.ts";
import { listCauses, type Quote, quoteWithout } from "#util/outside-errors.ts";
import { parseRetryAfter } from "#util/retry-after.ts";

export interface ConfiguredDoor {
  to(
    origin: string,
    limits?: { readonly maxBytes?: number; readonly firstByteTimeoutMs?: number; readonly totalTimeoutMs?: number },
  ): (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
}

export interface PineconeSettings {
  readonly apiKey: string;
  /** Name of the index. The controller is asked for its host. */
  readonly index: string | null;
  readonly controller: string;
}

const QUERY_TIMEOUT_MS = 800;
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Each method rejects with a PineconeError. */
export class PineconeClient {
  readonly #settings: PineconeSettings;
  readonly #door: ConfiguredDoor;
  readonly #queryTimeoutMs: number;
  readonly #quote: Quote;
  #host: string | undefined;

  constructor(settings: PineconeSettings, door: ConfiguredDoor, queryTimeoutMs: number = QUERY_TIMEOUT_MS) {
    this.#settings = settings;
    this.#door = door;
    this.#queryTimeoutMs = queryTimeoutMs;
    this.#quote = quoteWithout(settings.apiKey);
  }

  async describe(): Promise<IndexFacts> {
    const { body } = await this.#callIndex(undefined, TIMEOUT_MS, (index) => index.describeIndexStats());
    return readIndexFacts(body);
  }

  async upsert(namespace: string, records: readonly PineconeRecord[]): Promise<SequenceNumber> {
    const encoded = records.map((record) => ({ ...record, id: encodeURI(record.id) }));
    const { headers } = await this.#callIndex(namespace, TIMEOUT_MS, (index) => index.upsert({ records: encoded }));
    return readSequenceNumber(headers, "x-pinecone-request-lsn");
  }

  async remove(namespace: string, ids: readonly string[]): Promise<SequenceNumber> {
    try {
      const { headers } = await this.#callIndex(namespace, TIMEOUT_MS, (index) =>
        index.deleteMany({ ids: ids.map(encodeURI) }),
      );
      return readSequenceNumber(headers, "x-pinecone-request-lsn");
    } catch (error) {
      // An unknown namespace was never written to, or is deleted already.
      const { answered, message } = error as PineconeError;
      if (answered === 404 && /namespace/i.test(message)) return null;
      throw error;
    }
  }

  /** Returns the matches in the order of the answer, only records that `embedder` made. */
  async query(namespace: string, vector: readonly number[], count: number, embedder: string) {
    const filter = { embedder: { $eq: embedder } };
    const { body, headers } = await this.#callIndex(namespace, this.#queryTimeoutMs, (index) =>
      index.query({ vector: [...vector], topK: count, filter }),
    );
    return { matches: readMatches(body), sequence: readSequenceNumber(headers, "x-pinecone-max-indexed-lsn") };
  }

  async #callIndex(
    namespace: string | undefined,
    timeoutMs: number,
    act: (index: ReturnType<Pinecone["index"]>) => Promise<unknown>,
  ) {
    const host = await this.#findHost();
    const target = namespace === undefined ? { host } : { host, namespace: encodeURI(namespace) };
    return this.#call(host, timeoutMs, (pinecone) => act(pinecone.index(target)));
  }

  async #findHost(): Promise<string> {
    if (this.#host) return this.#host;
    const { index, controller } = this.#settings;
    if (!index)
      throw new PineconeError("The memory backend is Pinecone, but no index is set.", {
        isLasting: true,
        hint: "Set PINECONE_INDEX to the name of an index.",
      });
    const { body } = await this.#call(originOf(controller), TIMEOUT_MS, (pinecone) => pinecone.indexes.describe(index));
    this.#host = readHost(body, index, controller, this.#quote);
    return this.#host;
  }

  /** Returns the answer as it came, not what the client made of it. */
  async #call(origin: string, timeoutMs: number, act: (pinecone: Pinecone) => Promise<unknown>) {
    const answer = { headers: new Headers(), body: undefined as unknown };
    const send = this.#door.to(origin, {
      maxBytes: MAX_BYTES,
      firstByteTimeoutMs: timeoutMs,
      totalTimeoutMs: timeoutMs,
    });
    const { Pinecone } = await import("@pinecone-database/pinecone");
    const pinecone = new Pinecone({
      apiKey: this.#settings.apiKey,
      controllerHostUrl: this.#settings.controller,
      maxRetries: 0,
      fetchApi: async (input, init) => {
        const response = await send(input, init);
        const text = await response.text();
        if (!response.ok) throw explainStatus(response, text, origin, this.#quote);
        answer.headers = response.headers;
        answer.body = parseJson(text);
        return new Response(text === "" ? "{}" : text, { status: response.status, headers: response.headers });
      },
    });
    try {
      await act(pinecone);
      return answer;
    } catch (error) {
      throw toPineconeError(error, origin, this.#quote);
    }
  }
}

export type IndexFacts = ReturnType<typeof readIndexFacts>;
export type PineconeMatch = ReturnType<typeof readMatches>[number];

/** Log sequence number: of a write its own, of a query the last one that it includes; null: the server named none. */
export type SequenceNumber = number | null;

/** Returns the matches of Pinecone's answer to a query. Each answer is checked before use. */
function readMatches(body: unknown) {
  const matches = isRecord(body) ? (body.matches ?? []) : undefined;
  if (!Array.isArray(matches)) throw new PineconeError("Pinecone's answer to a query has no list of matches.");
  return matches.map((match: unknown) => {
    const { id, score } = isRecord(match) ? match : {};
    if (typeof id !== "string" || typeof score !== "number" || !Number.isFinite(score))
      throw new PineconeError("Pinecone's answer to a query has a match without an id or a score.");
    return { id: decodeName(id), score };
  });
}

/** Pinecone accepts only ASCII, so names are sent URI-encoded. */
const decodeName = (id: string): string => orUndefined(() => decodeURI(id)) ?? id;

/** `counts`: records by namespace. */
function readIndexFacts(body: unknown) {
  const { dimension, metric, vectorType, namespaces } = isRecord(body) ? body : {};
  if (typeof dimension !== "number" || !Number.isInteger(dimension) || dimension < 1)
    throw new PineconeError("Pinecone does not report the dimensions of the index. Is it an index for dense vectors?", {
      isLasting: true,
    });
  const counts = Object.entries(isRecord(namespaces) ? namespaces : {}).map(([name, summary]) => {
    const { vectorCount, recordCount } = isRecord(summary) ? summary : {};
    return [decodeName(name), Number(vectorCount ?? recordCount ?? 0) || 0] as const;
  });
  const text = (value: unknown) => (typeof value === "string" ? value.toLowerCase() : undefined);
  return { dimension, metric: text(metric), vectorType: text(vectorType), counts: new Map(counts) };
}

/** Returns the origin of the index. Accepts only pinecone.io and the controller's host, because the key is sent there. */
function readHost(body: unknown, index: string, controller: string, quote: Quote): string {
  const { host } = isRecord(body) ? body : {};
  const origin = typeof host === "string" ? withScheme(host) : "";
  const url = URL.parse(origin);
  const isPinecone = url?.protocol === "https:" && /(?:^|\.)pinecone\.io$/.test(url.hostname);
  if (url && (isPinecone || url.hostname === new URL(controller).hostname)) return url.origin;
  throw new PineconeError(
    `Pinecone gives ${quote(host)} as the host of the index ${index}; the key is not sent to that host.`,
    { isLasting: true, hint: "Check PINECONE_INDEX and PINECONE_CONTROLLER_HOST." },
  );
}

const readSequenceNumber = (headers: Headers, name: string): SequenceNumber => {
  const value = Number(headers.get(name) ?? Number.NaN);
  return Number.isSafeInteger(value) ? value : null;
};

/** Pinecone's client reads a host without a scheme as https. */
const withScheme = (host: string): string => (/^https?:\/\//.test(host) ? host : `https://${host}`);

function originOf(address: string): string {
  const url = URL.parse(withScheme(address));
  if (url) return url.origin;
  throw new GoaldError("GOALD_CONFIG", `Expected the address of a Pinecone index, got ${JSON.stringify(address)}.`);
}

/** A failure of Pinecone as an error that says what a person can do, without the key. */
export class PineconeError extends GoaldError {
  /** A retry in a minute would fail the same way. */
  readonly isLasting: boolean;
  /** Time that the server asks to wait before the next request. */
  readonly afterMs: number | null;
  /** HTTP status; 0 without an answer. Not called `status`: the client would treat the error as its own and retry. */
  readonly answered: number;
  constructor(message: string, { isLasting = false, afterMs = null as number | null, answered = 0, hint = "" } = {}) {
    super("GOALD_HTTP_REFUSED", message, { hint });
    this.isLasting = isLasting;
    this.afterMs = afterMs;
    this.answered = answered;
  }
}

const ADVICE: Readonly<Record<number, string>> = {
  400: "It rejects this request.",
  401: "It rejected the key: check PINECONE_API_KEY.",
  403: "The key has no permission for this: check PINECONE_API_KEY and its project.",
  404: "It does not know this index: check PINECONE_INDEX, or create the index.",
  429: "It asks for fewer requests.",
};

function toPineconeError(error: unknown, origin: string, quote: Quote): PineconeError {
  const chain = listCauses(error);
  const known = chain.find((cause): cause is PineconeError => cause.name === "GoaldError" && "isLasting" in cause);
  return known ?? new PineconeError(`No usable answer from Pinecone at ${origin} (${quote(chain.at(-1)?.message)}).`);
}

/** Explains an answer other than success, before Pinecone's client sees it. */
function explainStatus({ status, headers }: Response, text: string, origin: string, quote: Quote): PineconeError {
  const body = text === "" || status === 401 ? "" : ` The answer: “${quote(text)}”.`;
  const advice = ADVICE[status] ? ` ${ADVICE[status]}` : "";
  return new PineconeError(`Pinecone at ${origin} answered ${status}.${advice}${body}`, {
    isLasting: status >= 400 && status < 500 && ![408, 409, 429].includes(status),
    afterMs: parseRetryAfter(headers),
    answered: status,
  });
}

export type PineconeRecord = ReturnType<typeof createRecord>;

/** Pinecone takes 40 KB of metadata. */
const MAX_TEXT_BYTES = 8_192;

/** Returns a memory row in the form that Pinecone stores. */
export function createRecord(
  { id, seq, kind, trust, at, text }: Pick<MemoryRow, "id" | "seq" | "kind" | "trust" | "at" | "text">,
  vector: Float32Array,
  embedder: string,
) {
  const metadata = { kind, trust, seq, ts: Date.parse(at) || 0, embedder, text: cutText(text) };
  return { id, values: Array.from(vector, roundComponent), metadata };
}

/** 32-bit floats hold seven digits; more digits only lengthen requests. */
export const roundComponent = (component: number): number => Number(component.toPrecision(7));

function cutText(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_TEXT_BYTES) return text;
  const head = bytes.subarray(0, MAX_TEXT_BYTES).toString();
  return head.replace(/\uFFFD+$/, "");
}
