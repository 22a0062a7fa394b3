/**
 * pinecone.ts -- memory in a Pinecone index: opens one index per namespace and sends their changes in the background.
 * Each agent has one namespace, and so has `shared`. A recall never fails because of Pinecone: after 0.8 s, or any
 * error, the local index answers. Changes made during an outage are sent after it. An index that cannot take the
 * vectors is reported at the start; the local index answers until the settings are read again.
 */
import { toError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { RemoteRow } from "#core/ports/memory.ts";
import type { Store } from "#core/ports/store.ts";
import type { IndexFacts, PineconeClient, PineconeError, PineconeRecord } from "./pinecone-client.ts";
import { PineconeIndex, type PineconeIndexParts } from "./pinecone-index.ts";

export interface PineconeParts {
  readonly clock: Pick<Clock, "now">;
  report(sentence: string): void;
  readonly client: PineconeClient;
  readonly store: Pick<Store, "remoteRows" | "saveRemoteRows" | "remoteNamespaces" | "remoteForgotten">;
  /** Name of the index in the journal: its address or its name. */
  readonly place: string;
  /** Delay after which changes are sent, so that the rows of some steps share a request. Default: 2 s. */
  readonly sendAfterMs?: number;
}

const SEND_AFTER_MS = 2_000;
const PAGE_ROWS = 1_000;
/** Statuses of a request that would be rejected again. */
const REJECTED: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Has the one connection that all namespaces share, and its journal in the store. No method rejects because of
 * Pinecone: a call that failed or was not made returns undefined. An index that cannot take the embedder's vectors is
 * reported once, with the setting to change, and never called.
 */
export class PineconeMemory {
  readonly #parts: PineconeParts;
  readonly #breaker: ReturnType<typeof openCircuitBreaker>;
  readonly #sendAfterMs: number;
  readonly #changed = new Set<PineconeIndex>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  readonly #reported = new Set<string>();
  #facts: IndexFacts | undefined;

  constructor(parts: PineconeParts) {
    this.#parts = parts;
    this.#breaker = openCircuitBreaker(parts);
    this.#sendAfterMs = parts.sendAfterMs ?? SEND_AFTER_MS;
  }

  /** Reads the facts of the index and reports a mismatch. `dimensions` is 0 while the embedder does not know them. */
  async start(dimensions: number): Promise<void> {
    if ((await this.describe()) && dimensions > 0) this.accepts(dimensions);
  }

  open(parts: Omit<PineconeIndexParts, "connection" | "onChange">): PineconeIndex {
    const index: PineconeIndex = new PineconeIndex({
      ...parts,
      connection: this,
      onChange: () => this.#noteChange(index),
    });
    this.#noteChange(index);
    return index;
  }

  async forgetRemoved(isAgent: (namespace: string) => boolean): Promise<void> {
    for (const namespace of await this.#parts.store.remoteNamespaces(this.#parts.place))
      if (!isAgent(namespace) && !(await this.removeNamespace(namespace))) return;
  }

  /** Deletes forgotten rows, also those of agents that recall nothing any more. */
  async removeForgotten(): Promise<void> {
    const ids = await this.#parts.store.remoteForgotten(this.#parts.place);
    for (const [namespace, forgotten] of Map.groupBy(ids, namespaceOf))
      if (!(await this.removeRows(namespace, forgotten))) return;
  }

  /** Sends the changes, for at most `ms`. Unsent changes are sent after the next start. */
  async flush(ms: number): Promise<void> {
    const { promise: timedOut, resolve } = Promise.withResolvers<void>();
    const limit = setTimeout(resolve, ms);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await Promise.race([this.#send(), timedOut]);
    clearTimeout(limit);
  }

  #noteChange(index: PineconeIndex): void {
    this.#changed.add(index);
    this.#schedule(this.#sendAfterMs);
  }

  #schedule(ms: number): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, ms).unref();
  }

  /** Sends one index at a time, so that the requests of a namespace keep their order. */
  #send(): Promise<void> {
    this.#sending = this.#sending
      .then(() => this.#sendAll())
      .catch((error) => this.#parts.report(`Pinecone: ${toError(error).message}`));
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    const isAvailable = (await this.describe()) !== undefined;
    for (const index of isAvailable ? [...this.#changed] : []) {
      this.#changed.delete(index);
      if (!(await index.send())) this.#changed.add(index);
    }
    if (this.#changed.size > 0) this.#schedule(Math.max(this.#breaker.pauseMs(), this.#sendAfterMs));
  }

  now(): number {
    return this.#parts.clock.now().getTime();
  }

  /** Reads the facts of the index once. */
  async describe(): Promise<IndexFacts | undefined> {
    this.#facts ??= (await this.#breaker.attempt(() => this.#parts.client.describe()))?.value;
    return this.#facts;
  }

  /** Whether the index takes vectors of this length; false before `describe` succeeded. */
  accepts(dimensions: number): boolean {
    if (!this.#facts) return false;
    const problem = findMismatch(this.#facts, dimensions);
    if (problem && !this.#reported.has(problem)) this.#parts.report(problem);
    if (problem) this.#reported.add(problem);
    return problem === undefined;
  }

  /** Records in a namespace when the index was described, or in the last upload since then. */
  countKnown(namespace: string, dimensions: number): number | undefined {
    return this.accepts(dimensions) ? (this.#facts?.counts.get(namespace) ?? 0) : undefined;
  }

  async query(namespace: string, vector: readonly number[], count: number, embedder: string) {
    if (!this.accepts(vector.length)) return undefined;
    const { client } = this.#parts;
    return (await this.#breaker.attempt(() => client.query(namespace, vector, count, embedder)))?.value;
  }

  /** Returns "rejected" for records that Pinecone will never take. */
  async upsert(namespace: string, records: readonly PineconeRecord[]) {
    const answer = await this.#breaker.attempt(async () => {
      try {
        const sequence = await this.#parts.client.upsert(namespace, records);
        this.#facts?.counts.set(namespace, records.length);
        return { sequence };
      } catch (error) {
        if (REJECTED.has((error as PineconeError).answered)) return "rejected" as const;
        throw error;
      }
    });
    return answer?.value;
  }

  /** Returns whether the ids are deleted. */
  async remove(namespace: string, ids: readonly string[]): Promise<boolean> {
    return (await this.#breaker.attempt(() => this.#parts.client.remove(namespace, ids))) !== undefined;
  }

  async readJournal(namespace: string): Promise<readonly RemoteRow[]> {
    const { store, place } = this.#parts;
    const rows: RemoteRow[] = [];
    for (;;) {
      const page = await store.remoteRows(place, namespace, rows.at(-1)?.id ?? "", PAGE_ROWS);
      rows.push(...page);
      if (page.length < PAGE_ROWS) return rows;
    }
  }

  /** Saves rows that may be in the index, and removes ids that were deleted there. */
  async saveJournal(namespace: string, rows: readonly RemoteRow[], deleted: readonly string[]): Promise<void> {
    await this.#parts.store.saveRemoteRows(this.#parts.place, namespace, rows, deleted);
  }

  /** Deletes rows, and then their entries in the journal. Returns whether they are deleted. */
  async removeRows(namespace: string, ids: readonly string[]): Promise<boolean> {
    for (let from = 0; from < ids.length; from += PAGE_ROWS) {
      const page = ids.slice(from, from + PAGE_ROWS);
      if (!(await this.remove(namespace, page))) return false;
      await this.saveJournal(namespace, [], page);
    }
    return true;
  }

  /** Deletes everything that the journal lists for a namespace. Returns whether it is deleted. */
  async removeNamespace(namespace: string): Promise<boolean> {
    const ids = (await this.readJournal(namespace)).map(({ id }) => id);
    return this.removeRows(namespace, ids);
  }
}

function findMismatch({ dimension, metric, vectorType }: IndexFacts, dimensions: number): string | undefined {
  if (vectorType !== undefined && vectorType !== "dense")
    return `Memory is searched locally: the Pinecone index holds ${vectorType} vectors, expected dense ones. Create an index for dense vectors and set PINECONE_INDEX.`;
  if (metric !== undefined && metric !== "cosine" && metric !== "dotproduct")
    return `Memory is searched locally: the metric of the Pinecone index is ${metric}, expected cosine or dotproduct. Create an index with one of them and set PINECONE_INDEX.`;
  if (dimension !== dimensions)
    return `Memory is searched locally: the Pinecone index takes vectors of ${dimension} dimensions, the embedder makes ${dimensions}. Create an index of ${dimensions} dimensions and set PINECONE_INDEX, or set EMBEDDING_MODEL to a model of ${dimension} dimensions.`;
  return undefined;
}

/** Doubled at each further failure. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
const LASTING_PAUSE_MS = 10 * 60_000;

/**
 * Decides whether Pinecone is called: after a failure it is left alone for 1 s, then 2, 4, up to 60 s. A lasting
 * failure pauses for 10 minutes, a server may ask for a longer pause. While calls fail, one at a time is let through to
 * test the server. The outage and its end are reported once each.
 */
function openCircuitBreaker({ clock, report }: Pick<PineconeParts, "clock" | "report">) {
  let failures = 0;
  let notBeforeMs = 0;
  /** A call that tests a failed server is under way; other calls are turned away. */
  let isTesting = false;

  /** Time until the next call is let through. */
  const pauseMs = (): number => Math.min(LASTING_PAUSE_MS, Math.max(0, notBeforeMs - clock.now().getTime()));

  function backOff({ isLasting = false, afterMs = null, message, hint = "" }: PineconeError): void {
    const pause = isLasting ? LASTING_PAUSE_MS : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    notBeforeMs = clock.now().getTime() + Math.max(pause, Math.min(afterMs ?? 0, LASTING_PAUSE_MS));
    if (failures === 0) report(`Memory is searched locally for now: ${message} ${hint}`.trimEnd());
    failures++;
  }

  /** Returns undefined when the call failed or was not made. */
  async function attempt<T>(act: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (pauseMs() > 0 || isTesting) return undefined;
    const before = failures;
    isTesting = before > 0;
    try {
      const value = await act();
      if (failures > 0) report("Pinecone answers again. Memory is searched there, and unsent rows are sent.");
      failures = 0;
      return { value };
    } catch (error) {
      // Calls that were made together fail once.
      if (failures === before) backOff(toError(error) as PineconeError);
      return undefined;
    } finally {
      isTesting = false;
    }
  }

  return { pauseMs, attempt };
}
