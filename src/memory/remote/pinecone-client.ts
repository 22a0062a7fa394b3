/**
 * pinecone-client.ts -- calls Pinecone through its own client, which is loaded on first use.
 *
 * The client takes our fetch, so every request uses the configured HTTP door. Its retries are off; pinecone-connection.ts
 * decides about retries. Each call creates a client (0.05 ms) with its own time limit and reads the raw answer, because
 * the client drops sequence numbers and the metric. Errors say what a person can do and never hold the key.
 */

import type { Pinecone } from "@pinecone-database/pinecone";
import { parseJson } from "#util/json.ts";
import { type Quote, quoteWithout } from "#util/outside-errors.ts";
import {
  type IndexFacts,
  originOf,
  type PineconeMatch,
  readHost,
  readIndexFacts,
  readMatches,
  readSequenceNumber,
  type SequenceNumber,
} from "./pinecone-answers.ts";
import { noIndexError, type PineconeError, PineconeStatusError, toPineconeError } from "./pinecone-errors.ts";
import type { PineconeRecord } from "./pinecone-records.ts";

type PineconeFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
/** The configured door of the HTTP room. */
export interface ConfiguredDoor {
  to(
    origin: string,
    limits?: { readonly maxBytes?: number; readonly firstByteTimeoutMs?: number; readonly totalTimeoutMs?: number },
  ): PineconeFetch;
}

export interface PineconeSettings {
  readonly apiKey: string;
  /** Name of the index. The controller is asked for its host. */
  readonly index: string | null;
  readonly controller: string;
}

/** An answer as it came, beside what the client made of it. */
interface RawAnswer {
  headers: Headers;
  body: unknown;
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
      const { status, message } = error as PineconeError;
      if (status === 404 && /namespace/i.test(message)) return null;
      throw error;
    }
  }

  /** Returns the matches in the order of the answer, only records that `embedder` made. */
  async query(
    namespace: string,
    vector: readonly number[],
    count: number,
    embedder: string,
  ): Promise<{ readonly matches: readonly PineconeMatch[]; readonly sequence: SequenceNumber }> {
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
  ): Promise<RawAnswer> {
    const host = await this.#findHost();
    const target = namespace === undefined ? { host } : { host, namespace: encodeURI(namespace) };
    return this.#call(host, timeoutMs, (pinecone) => act(pinecone.index(target)));
  }

  async #findHost(): Promise<string> {
    if (this.#host) return this.#host;
    const { index, controller } = this.#settings;
    if (!index) throw noIndexError();
    const { body } = await this.#call(originOf(controller), TIMEOUT_MS, (pinecone) => pinecone.indexes.describe(index));
    this.#host = readHost(body, index, controller, this.#quote);
    return this.#host;
  }

  async #call(origin: string, timeoutMs: number, act: (pinecone: Pinecone) => Promise<unknown>): Promise<RawAnswer> {
    const answer: RawAnswer = { headers: new Headers(), body: undefined };
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
        if (!response.ok) throw new PineconeStatusError(response.status, response.headers, text);
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
