/**
 * guarded-embedder.ts -- calls an embedder that may fail, hang or return garbage, so that a recall never does.
 *
 * Each vector of an answer is checked before it is used. After a failure the next calls skip the embedder: 1, then 2, 4,
 * up to 64 of them, so that a dead server costs neither a timeout per step nor a bill. No call is made before the
 * retry time that a server named. Each outage is reported once.
 */
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, Embedder } from "#core/ports/memory.ts";
import { dot } from "./unit-vector.ts";

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
      const answer = await requestVectors(this.#embedder, texts, { signal, timeoutMs: this.#timeoutMs, countTokens });
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

  #isWaiting(): boolean {
    if (!this.#clock) return false;
    const leftMs = this.#notBeforeMs - this.#clock.now().getTime();
    // A longer wait than any server may ask for means that the clock was set back.
    return leftMs > 0 && leftMs <= MAX_WAIT_MS;
  }

  #backOff(error: Error): void {
    this.#outages.failed(`Memory is searched by shared words for now: ${error.message}`);
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

/** Rejects on abort or timeout even if the embedder ignores the signal. */
async function requestVectors(
  embedder: Embedder,
  texts: readonly string[],
  {
    signal,
    timeoutMs,
    countTokens,
  }: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly countTokens: CountTokens | undefined },
): Promise<readonly Float32Array[]> {
  if (embedder.isInstant) return embedder.embed(texts, signal);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(limited.reason);
  limited.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([embedder.embed(texts, limited, countTokens), aborted]);
  } finally {
    limited.removeEventListener("abort", stop);
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
  const usable = vectors.map((vector) => toUnitOrNull(vector, dimensions));
  if (usable.length > 0 && usable.every((vector) => vector === null))
    throw new Error(
      `the embedder ${id} returned no usable vector: expected ${dimensions} finite numbers, got ${vectors[0]?.length}.`,
    );
  return usable;
}

/** Returns null for a vector without a direction: wrong length, not finite or all zero. */
function toUnitOrNull(vector: Float32Array, dimensions: number): Float32Array | null {
  const norm = vector.length === dimensions ? Math.sqrt(dot(vector, vector)) : 0;
  if (!(norm > 0 && norm < Number.POSITIVE_INFINITY)) return null;
  return Math.abs(norm - 1) < 1e-4 ? vector : vector.map((component) => component / norm);
}
