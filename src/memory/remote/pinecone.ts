/**
 * pinecone.ts -- memory in a Pinecone index: opens one index per namespace and sends their changes in the background.
 *
 * Each agent has one namespace, and so has `shared`. A recall never fails because of Pinecone: after 0.8 s, or any error,
 * the local index answers. Changes made during an outage are sent after it. An index that cannot take the vectors is
 * reported at the start; the local index answers until the settings are read again.
 */
import { toError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { Store } from "#core/ports/store.ts";
import { PineconeConnection, type PineconeConnectionParts } from "./pinecone-connection.ts";
import { PineconeIndex, type PineconeIndexParts } from "./pinecone-index.ts";

export interface PineconeParts extends PineconeConnectionParts {
  readonly store: PineconeConnectionParts["store"] & Pick<Store, "remoteNamespaces" | "remoteForgotten">;
  /** Delay after which changes are sent, so that the rows of some steps share a request. Default: 2 s. */
  readonly sendAfterMs?: number;
}

const SEND_AFTER_MS = 2_000;

export class PineconeMemory {
  readonly #parts: PineconeParts;
  readonly #connection: PineconeConnection;
  readonly #sendAfterMs: number;
  /** Indexes with changes to send. */
  readonly #changed = new Set<PineconeIndex>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(parts: PineconeParts) {
    this.#parts = parts;
    this.#connection = new PineconeConnection(parts);
    this.#sendAfterMs = parts.sendAfterMs ?? SEND_AFTER_MS;
  }

  /** Reads the facts of the index and reports a mismatch. `dimensions` is 0 while the embedder does not know them. */
  async start(dimensions: number): Promise<void> {
    if ((await this.#connection.describe()) && dimensions > 0) this.#connection.accepts(dimensions);
  }

  open(parts: Omit<PineconeIndexParts, "connection" | "onChange">): PineconeIndex {
    const index: PineconeIndex = new PineconeIndex({
      ...parts,
      connection: this.#connection,
      onChange: () => this.#noteChange(index),
    });
    this.#noteChange(index);
    return index;
  }

  /** Deletes the namespaces of removed agents. */
  async forgetRemoved(isAgent: (namespace: string) => boolean): Promise<void> {
    for (const namespace of await this.#parts.store.remoteNamespaces(this.#parts.place))
      if (!isAgent(namespace) && !(await this.#connection.removeNamespace(namespace))) return;
  }

  /** Deletes forgotten rows, also those of agents that recall nothing any more. */
  async removeForgotten(): Promise<void> {
    const ids = await this.#parts.store.remoteForgotten(this.#parts.place);
    for (const [namespace, forgotten] of Map.groupBy(ids, namespaceOf))
      if (!(await this.#connection.removeRows(namespace, forgotten))) return;
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
    const isAvailable = (await this.#connection.describe()) !== undefined;
    for (const index of isAvailable ? [...this.#changed] : []) {
      this.#changed.delete(index);
      if (!(await index.send())) this.#changed.add(index);
    }
    if (this.#changed.size > 0) this.#schedule(Math.max(this.#connection.pauseMs, this.#sendAfterMs));
  }
}
