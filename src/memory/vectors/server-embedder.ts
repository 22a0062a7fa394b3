/**
 * server-embedder.ts -- calls an embedder that may fail, hang or return garbage, so that a recall never does. Each
 * vector of an answer is checked before it is used. After a failure the next calls skip the embedder: 1, then 2, 4, up
 * to 64 of them, so that a dead server costs neither a timeout per step nor a bill. No call is made before the retry
 * time that a server named. Each outage is reported once.
 */

import { hash } from "node:crypto";
import { addAbortListener } from "node:events";
import { isGoaldError, orUndefined, toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, Embedder } from "#core/ports/memory.ts";
import { toUnit } from "./unit-vector.ts";

const MAX_SKIPPED_CALLS = 64;
const MAX_WAIT_MS = 60 * 60_000;

export class GuardedEmbedder {
  readonly #embedder: Embedder;
  readonly #timeoutMs: number;
  readonly #clock: Pick<Clock, "now"> | undefined;
  readonly #outages: OutageReporter;
  readonly #unusable: OutageReporter;
  #failures = 0;
  #callsToSkip = 0;
  #notBeforeMs = 0;

  /** Recorded runs pass no clock: a replay takes no time, so only calls are counted. */
  constructor(embedder: Embedder, timeoutMs: number, report: (problem: string) => void, clock?: Pick<Clock, "now">) {
    this.#embedder = embedder;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#outages = new OutageReporter(report);
    this.#unusable = new OutageReporter(report);
  }

  /** Returns one vector per text, null for an unusable one; undefined when the embedder is unavailable now. */
  async embed(
    texts: readonly string[],
    signal: AbortSignal,
    countTokens?: CountTokens,
  ): Promise<readonly (Float32Array | null)[] | undefined> {
    if (signal.aborted) return undefined;
    if (this.#callsToSkip > 0) {
      this.#callsToSkip--;
      return undefined;
    }
    if (this.#isWaiting()) return undefined;
    try {
      const answer = await this.#request(texts, signal, countTokens);
      const vectors = checkVectors(answer, texts.length, this.#embedder);
      const unusable = vectors.filter((vector) => vector === null).length;
      if (unusable > 0)
        this.#unusable.failed(
          `${unusable} of ${vectors.length} vectors of ${this.#embedder.id} are unusable; those texts are found by words alone.`,
        );
      this.#outages.recovered();
      this.#failures = 0;
      return vectors;
    } catch (error) {
      if (!signal.aborted) this.#backOff(toError(error));
      return undefined;
    }
  }

  /** Rejects on abort or timeout even if the embedder ignores the signal. */
  async #request(texts: readonly string[], signal: AbortSignal, countTokens?: CountTokens) {
    if (this.#embedder.isInstant) return this.#embedder.embed(texts, signal);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    using _ = addAbortListener(limited, () => reject(limited.reason));
    return await Promise.race([this.#embedder.embed(texts, limited, countTokens), aborted]);
  }

  #isWaiting(): boolean {
    const leftMs = this.#clock ? this.#notBeforeMs - this.#clock.now().getTime() : 0;
    // A longer wait than any server may ask for means that the clock was set back.
    return leftMs > 0 && leftMs <= MAX_WAIT_MS;
  }

  #backOff(error: Error): void {
    const seconds = this.#timeoutMs / 1000;
    const reason = isTimeout(error) ? `no embeddings came within ${seconds} s.` : error.message;
    this.#outages.failed(`Memory is searched by shared words for now: ${reason}`);
    this.#callsToSkip = Math.min(2 ** this.#failures, MAX_SKIPPED_CALLS);
    this.#failures++;
    const { afterMs } = error as { readonly afterMs?: unknown };
    if (this.#clock && typeof afterMs === "number")
      this.#notBeforeMs = this.#clock.now().getTime() + Math.min(afterMs, MAX_WAIT_MS);
  }
}

/** Reports the first failure of an outage, and no other until `recovered`. */
export class OutageReporter {
  readonly #report: (problem: string) => void;
  #isDown = false;

  constructor(report: (problem: string) => void) {
    this.#report = report;
  }

  failed(problem: string): void {
    if (!this.#isDown) this.#report(problem);
    this.#isDown = true;
  }

  recovered(): void {
    this.#isDown = false;
  }
}

/** Throws when the number of vectors is wrong or no vector is usable. */
function checkVectors(
  vectors: readonly Float32Array[],
  expected: number,
  { id, dimensions }: Embedder,
): (Float32Array | null)[] {
  if (vectors.length !== expected)
    throw new Error(`the embedder ${id} returned ${vectors.length} vectors for ${expected} texts.`);
  const usable = vectors.map((vector) => orUndefined(() => toUnit(vector, dimensions)) ?? null);
  if (usable.length > 0 && usable.every((vector) => vector === null))
    throw new Error(
      `the embedder ${id} returned no usable vector: expected ${dimensions} finite numbers, got ${vectors[0]?.length}.`,
    );
  return usable;
}

/** Cached numbers: 12 MB, or 2,048 vectors of 1,536 numbers. */
const MAX_NUMBERS = 3_145_728;

/**
 * Caches the vectors of an embedder that costs money or time. Agents of one host embed the same texts, and a step
 * embeds most texts of the last one again. The cache key holds the embedder's id and a hash of the text: the id changes
 * when the first answer reveals the dimensions.
 */
export function cachedEmbedder(embedder: Embedder, maxNumbers: number = MAX_NUMBERS): Embedder {
  const vectors = new Map<string, Float32Array>();
  let numbers = 0;

  function keepVector(key: string, vector: Float32Array): void {
    if (vectors.has(key)) return;
    vectors.set(key, vector);
    numbers += vector.length;
    for (const [oldest, { length }] of vectors) {
      if (numbers <= maxNumbers) break;
      vectors.delete(oldest);
      numbers -= length;
    }
  }

  /** Moves a used vector to the end, so that the least recently used one is dropped first. */
  function findVector(key: string): Float32Array | undefined {
    const vector = vectors.get(key);
    if (vector && vectors.delete(key)) vectors.set(key, vector);
    return vector;
  }

  return likeEmbedder(
    () => embedder,
    async (texts, signal, countTokens) => {
      const hashes = texts.map((text) => hash("sha1", text, "base64"));
      const known = new Map<string, Float32Array>();
      for (const textHash of hashes) {
        const vector = findVector(`${embedder.id} ${textHash}`);
        if (vector) known.set(textHash, vector);
      }
      const missing = new Map(
        hashes.flatMap((one, at) => (known.has(one) ? [] : [[one, texts[at] as string] as const])),
      );
      const before = embedder.id;
      const made = missing.size === 0 ? [] : await embedder.embed([...missing.values()], signal, countTokens);
      // The embedder changed its id: cached vectors of the earlier id do not compare.
      if (embedder.id !== before && known.size > 0) return embedder.embed(texts, signal, countTokens);
      for (const [at, one] of [...missing.keys()].entries()) {
        const vector = made[at];
        if (!vector) continue;
        known.set(one, vector);
        keepVector(`${embedder.id} ${one}`, vector);
      }
      return hashes.flatMap((one) => known.get(one) ?? []);
    },
  );
}

/** Has the properties of the embedder in use, which may change. */
const likeEmbedder = (inUse: () => Embedder, embed: Embedder["embed"]): Embedder => ({
  get id() {
    return inUse().id;
  },
  get dimensions() {
    return inUse().dimensions;
  },
  get local() {
    return inUse().local;
  },
  get semantic() {
    return inUse().semantic;
  },
  get isInstant() {
    return inUse().isInstant ?? false;
  },
  embed,
});

/**
 * Uses a server's embedder, or the offline one if the server has none. Calls `onFallback` once, with the reason, when
 * it selects the local embedder.
 *
 * Many chat servers have no embeddings. The first request decides for the rest of the process: an answer selects the
 * server; no connection, or a permanent refusal, selects the local embedder. Any other failure (busy, temporary)
 * decides nothing and reaches the caller, as does every failure after the server's first answer: a switch would discard
 * all of its vectors because of one bad minute.
 *
 * `id`, `dimensions`, `local`, `semantic` and `isInstant` are those of the embedder in use. They may change during the
 * first `embed` and never after it. Other calls wait for it, so the properties describe the vectors when `embed`
 * resolves.
 */
export function fallbackEmbedder(primary: Embedder, local: Embedder, onFallback: (reason: string) => void): Embedder {
  let chosen: Embedder | undefined;
  let first: Promise<unknown> = Promise.resolve();

  const embedFirst: Embedder["embed"] = async (texts, signal, countTokens) => {
    if (chosen) return chosen.embed(texts, signal, countTokens);
    try {
      const vectors = await primary.embed(texts, signal, countTokens);
      chosen = primary;
      return vectors;
    } catch (error) {
      if (signal.aborted ? !isTimeout(signal.reason) : !isTimeout(error) && !isGoaldError(error, "GOALD_HTTP_REFUSED"))
        throw error;
      chosen = local;
      onFallback(isTimeout(error) ? "the embeddings server does not answer." : toError(error).message);
      return local.embed(texts, signal);
    }
  };

  return likeEmbedder(
    () => chosen ?? primary,
    (texts, signal, countTokens) => {
      if (chosen) return chosen.embed(texts, signal, countTokens);
      const turn = first.then(() => embedFirst(texts, signal, countTokens));
      first = turn.catch(() => undefined);
      return turn;
    },
  );
}

/** Counts as no connection; a person's Ctrl-C does not. */
const isTimeout = (error: unknown): boolean => Error.isError(error) && error.name === "TimeoutError";
