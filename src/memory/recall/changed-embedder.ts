/**
 * changed-embedder.ts -- long-term memory while its embedder is another one than that which made the stored vectors.
 *
 * Until there is a vector of the new embedder for every row, an agent is served with the old vectors and the embedder that made
 * them, if that can still be asked; vectors of the two are in different places and never in one index. The new ones are made in
 * the background, a few at a time, and kept beside the old ones, so that a crash costs the last few; then they take
 * their place in one transaction, and the next recall goes by them. When the old embedder cannot be opened,
 * memory fills up with new vectors at each recall, and words find the rest.
 */
import { setTimeout } from "node:timers/promises";
import { isGoaldError, toError } from "#core/errors.ts";
import { isLive } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { Store } from "#core/ports/store.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { clip } from "#core/text.ts";
import type { RecallingMemory } from "./recall.ts";

export interface ChangedEmbedderParts {
  readonly store: Pick<Store, "memories" | "vectorCounts" | "nextVectorIds" | "saveNextVectors" | "adoptNextVectors">;
  readonly embedder: Embedder;
  /** Memory by the embedder as it is set. */
  readonly current: RecallingMemory;
  /** Memory by the embedder of this id; undefined when it cannot be opened. */
  openEarlier(embedder: string): RecallingMemory | undefined;
  readonly report: (problem: string) => void;
  /** Between two requests. Default: a quarter of a second. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 250;
const ROWS_PER_REQUEST = 32;
const PAGE_ROWS = 256;
const ROW_CHARS = 8_000;
/** After a failure, doubled at each. */
const RETRY_MS = 2_000;
const CLOSE_MS = 1_000;
const MAX_RETRY_MS = 10 * 60_000;

export function openChangedEmbedder(parts: ChangedEmbedderParts): RecallingMemory {
  const { current, embedder, store } = parts;
  const earlier = new Map<string, RecallingMemory | undefined>();
  /** By agent: the embedder of its vectors when that is an earlier one, and what the current one was called then. */
  const served = new Map<string, { readonly embedder: string | undefined; readonly current: string }>();
  /** Agents whose change is under way, or waits for that of another. */
  const changing = new Set<string>();
  const stop = new AbortController();
  /** One agent after the other. */
  let working: Promise<void> = Promise.resolve();

  async function memoryOf(agent: string): Promise<RecallingMemory> {
    const known = served.get(agent);
    const by = known?.current === embedder.id ? known.embedder : await decide(agent);
    return (by === undefined ? undefined : earlier.get(by)) ?? current;
  }

  async function decide(agent: string): Promise<string | undefined> {
    const by = await earlierOf(agent).catch(() => undefined);
    served.set(agent, { embedder: by, current: embedder.id });
    if (by !== undefined && !changing.has(agent)) {
      changing.add(agent);
      working = working
        .then(() => change(agent, by))
        .catch(() => undefined)
        .finally(() => changing.delete(agent));
    }
    return by;
  }

  async function earlierOf(agent: string): Promise<string | undefined> {
    if (!embedder.semantic) return undefined;
    const counts = [...(await store.vectorCounts(agent))];
    const own = counts.filter(([id]) => isSame(id, embedder.id)).reduce((sum, [, count]) => sum + count, 0);
    const [most] = counts.filter(([id]) => !isSame(id, embedder.id)).sort((a, b) => b[1] - a[1]);
    if (!most || most[1] <= own) return undefined;
    if (!earlier.has(most[0])) earlier.set(most[0], parts.openEarlier(most[0]));
    return earlier.get(most[0]) && most[0];
  }

  /** Ends when every row has its new vector and they are in use. */
  async function change(agent: string, by: string): Promise<void> {
    for (let failures = 0; !stop.signal.aborted; ) {
      try {
        if (await embedSome(agent)) {
          await pause(parts.pauseMs ?? PAUSE_MS);
          failures = 0;
          continue;
        }
        // What the earlier one still had to save would come over the new ones.
        await earlier.get(by)?.flush();
        await store.adoptNextVectors(agent, embedder.id);
        served.set(agent, { embedder: undefined, current: embedder.id });
        await earlier.get(by)?.release(agent);
        await current.release(agent);
        return;
      } catch (error) {
        if (stop.signal.aborted || isGoaldError(error, "GOALD_NOT_FOUND")) return;
        if (failures === 0)
          parts.report(
            `Memory goes on with the vectors of ${by}; new ones cannot be made now: ${toError(error).message}`,
          );
        await pause(Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures));
        failures++;
      }
    }
  }

  /** The next few rows without a new vector; false when there is none. */
  async function embedSome(agent: string): Promise<boolean> {
    const rows = await rowsWithout(agent);
    if (rows.length === 0) return false;
    const texts = rows.map(({ text }) => clip(text, ROW_CHARS));
    const vectors = await embedder.embed(texts, stop.signal);
    if (vectors.length !== rows.length || vectors.some(({ length }) => length !== embedder.dimensions))
      throw new Error(`${embedder.id} did not give a vector of ${embedder.dimensions} numbers for each text.`);
    const lot = rows.flatMap(({ id }, at) => (vectors[at] ? [{ id, vector: vectors[at] }] : []));
    await store.saveNextVectors(agent, embedder.id, lot);
    return true;
  }

  async function rowsWithout(agent: string): Promise<readonly MemoryRow[]> {
    const made = new Set(await store.nextVectorIds(agent, embedder.id));
    const without: MemoryRow[] = [];
    for (let after = 0; ; ) {
      const page = await store.memories(agent, after, PAGE_ROWS);
      for (const row of page) {
        if (!isLive(row) || row.embedder === embedder.id || made.has(row.id)) continue;
        without.push(row);
        if (without.length === ROWS_PER_REQUEST) return without;
      }
      if (page.length < PAGE_ROWS) return without;
      after = page.at(-1)?.change ?? after;
    }
  }

  const pause = (ms: number): Promise<void> =>
    setTimeout(ms, undefined, { ref: false, signal: stop.signal }).catch(() => undefined);
  const all = (): readonly RecallingMemory[] => [
    current,
    ...[...earlier.values()].filter((memory) => memory !== undefined),
  ];

  return {
    get remote() {
      return current.remote;
    },
    recall: async (query, signal) => (await memoryOf(query.agent)).recall(query, signal),
    flush: async () => {
      for (const memory of all()) await memory.flush();
    },
    close: async () => {
      stop.abort(new Error("Memory is closed."));
      // An embedder may take no notice of the signal; what it makes then is not kept.
      const waiting = new AbortController();
      const limit = setTimeout(CLOSE_MS, undefined, { signal: waiting.signal }).catch(() => undefined);
      await Promise.race([working, limit]);
      waiting.abort();
      for (const memory of all()) await memory.close();
    },
    release: async (agent) => {
      // It may have been removed, and another one may get its name.
      served.delete(agent);
      for (const memory of all()) await memory.release(agent);
    },
  };
}

/** `model@0` is a model whose dimensions are not known yet. */
const isSame = (stored: string, asked: string): boolean =>
  stored === asked ||
  (asked.endsWith("@0") && stored.slice(0, stored.lastIndexOf("@")) === asked.slice(0, -"@0".length));
