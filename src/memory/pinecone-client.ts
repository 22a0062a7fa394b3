/**
 * pinecone-client.ts -- Pinecone's own client, loaded on first use and kept on our terms.
 *
 * It takes a fetch, so every request leaves by the configured door. Its retries are off: what a failure means is decided in
 * one place (pinecone.ts). One client is made per call (0.05 ms), so that each call has its own time limit and what it heard:
 * the client keeps neither the numbers that say how far the index has caught up nor the metric. An answer is checked before
 * anything is built on it, and a failure says in words what a person can do, without the key.
 */

import type { Pinecone } from "@pinecone-database/pinecone";
import { parseJson } from "#util/json.ts";
import { quoteWithout } from "#util/quote.ts";
import {
  elsewhere,
  factsIn,
  hostIn,
  type IndexFacts,
  inWords,
  type Match,
  matchesIn,
  missing,
  numberIn,
  originOf,
  type PineconeTrouble,
  type Progress,
  placeOf,
  StatusError,
  sameRegion,
} from "./pinecone-answers.ts";

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
/** What this room needs of the HTTP seam: its configured door. */
export interface ConfiguredDoor {
  to(
    origin: string,
    limits?: { readonly maxBytes?: number; readonly firstByteTimeoutMs?: number; readonly totalTimeoutMs?: number },
  ): Fetch;
}

export interface PineconeSettings {
  readonly apiKey: string;
  /** Asked for at the controller when there is no `host`. */
  readonly index: string | null;
  /** Of the index's own data plane, such as https://mem-a1b2c3.svc.aped-4627-b74a.pinecone.io. */
  readonly host: string | null;
  /** Where the index must lie; null: anywhere. Only looked at when the controller is asked. */
  readonly environment: string | null;
  readonly controller: string;
}

export interface PineconeRecord {
  readonly id: string;
  readonly values: number[];
  readonly metadata: Record<string, string | number>;
}
export interface PineconeClient {
  describe(): Promise<IndexFacts>;
  upsert(namespace: string, records: readonly PineconeRecord[]): Promise<Progress>;
  remove(namespace: string, ids: readonly string[]): Promise<Progress>;
  /** Best first, as it says; only records that this embedder made. */
  query(
    namespace: string,
    vector: readonly number[],
    count: number,
    embedder: string,
  ): Promise<{ readonly matches: readonly Match[]; readonly progress: Progress }>;
}
const QUERY_TIMEOUT_MS = 800;
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;

interface Heard {
  headers: Headers;
  body: unknown;
}

export function openPineconeClient(
  settings: PineconeSettings,
  door: ConfiguredDoor,
  queryTimeoutMs?: number,
): PineconeClient {
  const quote = quoteWithout(settings.apiKey);
  let host = settings.host === null ? undefined : originOf(settings.host);

  /** Runs one call of the client against one origin; what came is handed over raw beside it. */
  async function call<T>(
    origin: string,
    timeoutMs: number,
    work: (pinecone: Pinecone) => Promise<T>,
  ): Promise<{ readonly value: T } & Heard> {
    const heard: Heard = { headers: new Headers(), body: undefined };
    const send = door.to(origin, { maxBytes: MAX_BYTES, firstByteTimeoutMs: timeoutMs, totalTimeoutMs: timeoutMs });
    const { Pinecone } = await import("@pinecone-database/pinecone");
    const pinecone = new Pinecone({
      apiKey: settings.apiKey,
      controllerHostUrl: settings.controller,
      maxRetries: 0,
      fetchApi: async (input, init) => {
        const response = await send(input, init);
        const text = await response.text();
        if (!response.ok) throw new StatusError(response.status, response.headers, text);
        heard.headers = response.headers;
        heard.body = parseJson(text);
        return new Response(text === "" ? "{}" : text, { status: response.status, headers: response.headers });
      },
    });
    try {
      return { value: await work(pinecone), ...heard };
    } catch (error) {
      throw inWords(error, origin, quote);
    }
  }

  async function find(): Promise<string> {
    if (host) return host;
    const { index, controller, environment } = settings;
    if (!index) throw missing();
    const { body } = await call(originOf(controller), TIMEOUT_MS, (pinecone) => pinecone.indexes.describe(index));
    const place = placeOf(body);
    if (environment !== null && place !== undefined && !sameRegion(environment, place))
      throw elsewhere(index, environment, quote(place));
    host = hostIn(body, index, controller, quote);
    return host;
  }

  const onIndex = async <T>(
    namespace: string | undefined,
    timeoutMs: number,
    work: (index: ReturnType<Pinecone["index"]>) => Promise<T>,
  ) => {
    const origin = await find();
    return call(origin, timeoutMs, (pinecone) =>
      work(
        pinecone.index(namespace === undefined ? { host: origin } : { host: origin, namespace: encodeURI(namespace) }),
      ),
    );
  };

  return {
    describe: async () => factsIn((await onIndex(undefined, TIMEOUT_MS, (index) => index.describeIndexStats())).body),
    upsert: async (namespace, records) => {
      const named = records.map((record) => ({ ...record, id: encodeURI(record.id) }));
      const { headers } = await onIndex(namespace, TIMEOUT_MS, (index) => index.upsert({ records: named }));
      return numberIn(headers, "x-pinecone-request-lsn");
    },
    remove: async (namespace, ids) => {
      try {
        const { headers } = await onIndex(namespace, TIMEOUT_MS, (index) =>
          index.deleteMany({ ids: ids.map(encodeURI) }),
        );
        return numberIn(headers, "x-pinecone-request-lsn");
      } catch (error) {
        // Nothing was ever written to it, or all of it is gone.
        if ((error as PineconeTrouble).status === 404 && /namespace/i.test((error as PineconeTrouble).message))
          return null;
        throw error;
      }
    },
    query: async (namespace, vector, count, embedder) => {
      const filter = { embedder: { $eq: embedder } };
      const { body, headers } = await onIndex(namespace, queryTimeoutMs ?? QUERY_TIMEOUT_MS, (index) =>
        index.query({ vector: [...vector], topK: count, filter }),
      );
      return { matches: matchesIn(body), progress: numberIn(headers, "x-pinecone-max-indexed-lsn") };
    },
  };
}
