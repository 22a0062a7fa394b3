/**
 * pinecone.ts -- memory kept in a Pinecone index: the connection that all namespaces share, and the sending in the background.
 *
 * One namespace per agent, and `shared`. A recall never waits long and never fails for Pinecone's sake: after 0.8 s, or any
 * error, home answers, and Pinecone is left alone for a second, then two, four, up to a minute, or as long as it asks. That it is
 * gone, and that it is back, is said once each. What came meanwhile is sent then. An index that cannot
 * take these vectors is said at the start, with what to do about it; home answers until the settings are read again.
 */
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { RemoteRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import type { IndexFacts, PineconeTrouble } from "./pinecone-answers.ts";
import type { PineconeClient } from "./pinecone-client.ts";
import { PineconeIndex, type PineconeIndexParts } from "./pinecone-index.ts";
import type { PineconeLink, Sender } from "./pinecone-link.ts";

export interface PineconeParts {
  readonly client: PineconeClient;
  readonly store: Pick<Store, "remoteNamespaces" | "remoteRows" | "saveRemoteRows">;
  /** The index's name in the journal: its address, or its name. */
  readonly place: string;
  readonly clock: Pick<Clock, "now">;
  /** Told in words when it is gone, and when it is back. */
  report(sentence: string): void;
  /** Default: 2 s, so that the rows of some steps travel together. */
  readonly sendAfterMs?: number;
  /** After the first failure; doubled at each. Default: 1 s. */
  readonly retryAfterMs?: number;
}

export interface PineconeMemory {
  /** Asks the index what it takes, and says when it cannot take what the embedder makes; 0 while that is not known. */
  start(dimensions: number): Promise<void>;
  open(parts: Omit<PineconeIndexParts, "link">): PineconeIndex;
  /** Deletes what is left there of agents that were removed. */
  forgetRemoved(isAgent: (namespace: string) => boolean): Promise<void>;
  /** Sends what waits, for at most `ms`; what does not get through goes with the next start. */
  flush(ms: number): Promise<void>;
}

const MAX_PAUSE_MS = 60_000;
/** For what will be the same in a minute. */
const LASTING_PAUSE_MS = 10 * 60_000;
const PAGE = 1_000;

export function openPinecone(parts: PineconeParts): PineconeMemory {
  const { client, store, place, clock, report, sendAfterMs = 2_000 } = parts;
  const connection = openConnection(parts);
  const waking = new Set<Sender>();
  let facts: IndexFacts | undefined;
  const told = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();

  const journal: PineconeLink["journal"] = {
    read: async (namespace) => {
      const rows: RemoteRow[] = [];
      for (;;) {
        const page = await store.remoteRows(place, namespace, rows.at(-1)?.id ?? "", PAGE);
        rows.push(...page);
        if (page.length < PAGE) return rows;
      }
    },
    save: (namespace, rows, gone) => store.saveRemoteRows(place, namespace, rows, gone),
  };

  /** Undefined until the index has said what it is. */
  async function describe(): Promise<IndexFacts | undefined> {
    facts ??= (await connection.attempt(() => client.describe()))?.value;
    return facts;
  }

  function fits(dimensions: number): boolean {
    if (!facts) return false;
    const problem = problemOf(facts, dimensions);
    if (problem && !told.has(problem)) report(problem);
    if (problem) told.add(problem);
    return problem === undefined;
  }

  const link: PineconeLink = {
    clock,
    journal,
    countAtStart: (namespace, dimensions) => (fits(dimensions) ? (facts?.counts.get(namespace) ?? 0) : undefined),
    query: async (namespace, dimensions, ...query) =>
      fits(dimensions) ? (await connection.attempt(() => client.query(namespace, ...query)))?.value : undefined,
    upsert: async (namespace, records) => {
      const taken = await connection.attempt(async () => {
        try {
          return { progress: await client.upsert(namespace, records) };
        } catch (error) {
          if (REFUSED.has((error as PineconeTrouble).status)) return "refused" as const;
          throw error;
        }
      });
      return taken?.value;
    },
    remove: async (namespace, ids) => (await connection.attempt(() => client.remove(namespace, ids))) !== undefined,
    wake: (index) => {
      waking.add(index);
      schedule(sendAfterMs);
    },
  };

  function schedule(ms: number): void {
    if (timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      void send();
    }, ms).unref();
  }

  /** One at a time, so that what one namespace is told keeps its order. */
  function send(): Promise<void> {
    sending = sending.then(sendAll).catch((error) => report(`Pinecone: ${toError(error).message}`));
    return sending;
  }

  async function sendAll(): Promise<void> {
    const isThere = (await describe()) !== undefined;
    for (const index of isThere ? [...waking] : []) {
      waking.delete(index);
      if (!(await index.send())) waking.add(index);
    }
    if (waking.size > 0) schedule(Math.max(connection.pauseMs(), sendAfterMs));
  }

  async function forgetRemoved(isAgent: (namespace: string) => boolean): Promise<void> {
    for (const namespace of await store.remoteNamespaces(place)) {
      if (isAgent(namespace)) continue;
      for (let rows = await store.remoteRows(place, namespace, "", PAGE); rows.length > 0; ) {
        const ids = rows.map(({ id }) => id);
        if (!(await link.remove(namespace, ids))) return;
        await journal.save(namespace, [], ids);
        rows = await store.remoteRows(place, namespace, "", PAGE);
      }
    }
  }

  return {
    start: async (dimensions) => {
      if ((await describe()) && dimensions > 0) fits(dimensions);
    },
    open: (indexParts) => {
      const index = new PineconeIndex({ ...indexParts, link });
      link.wake(index);
      return index;
    },
    forgetRemoved,
    flush: async (ms) => {
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const limit = setTimeout(resolve, ms);
      clearTimeout(timer);
      timer = undefined;
      await Promise.race([send(), over]);
      clearTimeout(limit);
    },
  };
}

/** Statuses of a request that it does not take, whenever it is asked. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

function problemOf({ dimension, metric, vectorType }: IndexFacts, dimensions: number): string | undefined {
  if (vectorType !== undefined && vectorType !== "dense")
    return `Memory is searched at home: the Pinecone index holds ${vectorType} vectors, expected dense ones. Create one for dense vectors and set PINECONE_INDEX.`;
  if (metric !== undefined && metric !== "cosine" && metric !== "dotproduct")
    return `Memory is searched at home: the Pinecone index measures by ${metric}, expected cosine or dotproduct. Create one that does and set PINECONE_INDEX.`;
  if (dimension !== dimensions)
    return `Memory is searched at home: the Pinecone index takes vectors of ${dimension} dimensions, the embedder makes ${dimensions}. Create an index of ${dimensions} dimensions and set PINECONE_INDEX, or set EMBEDDING_DIMENSIONS=${dimension} if the model can.`;
  return undefined;
}

/** Whether Pinecone can be had, and until when it is left alone. */
function openConnection({ clock, report, retryAfterMs = 1_000 }: PineconeParts) {
  let failures = 0;
  let notBeforeMs = 0;
  /** One that is under way while the others are turned away: it finds out whether Pinecone is back. */
  let isProbing = false;
  const pauseMs = (): number => Math.min(LASTING_PAUSE_MS, Math.max(0, notBeforeMs - clock.now().getTime()));

  function failed(thrown: unknown): void {
    const { lasting = false, afterMs = null, message, hint = "" } = toError(thrown) as PineconeTrouble;
    const pause = lasting ? LASTING_PAUSE_MS : Math.min(MAX_PAUSE_MS, retryAfterMs * 2 ** failures);
    notBeforeMs = clock.now().getTime() + Math.max(pause, Math.min(afterMs ?? 0, LASTING_PAUSE_MS));
    if (failures === 0) report(`Memory is searched at home for now: ${message} ${hint}`.trimEnd());
    failures++;
  }

  return {
    pauseMs,
    /** Undefined when it failed, or was not tried. */
    async attempt<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
      if (pauseMs() > 0 || isProbing) return undefined;
      isProbing = failures > 0;
      try {
        const value = await work();
        if (failures > 0) report("Pinecone answers again: memory is searched there, and what waited is sent.");
        failures = 0;
        return { value };
      } catch (thrown) {
        failed(thrown);
        return undefined;
      } finally {
        isProbing = false;
      }
    },
  };
}
