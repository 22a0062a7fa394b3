/**
 * ask-embedder.ts -- an embedder that may fail, hang or answer nonsense, asked so that recall never does.
 *
 * An answer is checked vector by vector before anything is built on it. After a failure the next recalls
 * go without the embedder: one, then two, four, up to 64 of them, so that a dead server costs
 * neither a time-out at every step nor a bill; and none asks before the time that a server named. Each outage is reported once.
 */
import { toError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { dot } from "./unit-vector.ts";

/** One vector per text, null where it is unusable; undefined when the embedder cannot be had now. */
export type AskEmbedder = (
  texts: readonly string[],
  signal: AbortSignal,
) => Promise<readonly (Float32Array | null)[] | undefined>;

const MAX_SKIPPED_RECALLS = 64;
const MAX_WAIT_MS = 60 * 60_000;

/** Without a clock, as in a run that is recorded, only recalls are counted: a replay takes no time. */
export function askEmbedder(
  embedder: Embedder,
  timeoutMs: number,
  report: (problem: string) => void,
  clock?: Pick<Clock, "now">,
): AskEmbedder {
  const trouble = reportOutages(report);
  const oddity = reportOutages(report);
  let failures = 0;
  let skip = 0;
  let notBeforeMs = 0;

  return async (texts, signal) => {
    if (signal.aborted) return undefined;
    if (skip > 0) {
      skip--;
      return undefined;
    }
    const leftMs = notBeforeMs - (clock?.now().getTime() ?? 0);
    // Longer than any server asks for: the clock was set back.
    if (clock && leftMs > 0 && leftMs <= MAX_WAIT_MS) return undefined;
    try {
      const vectors = checked(await request(embedder, texts, signal, timeoutMs), texts.length, embedder);
      const odd = vectors.filter((vector) => vector === null).length;
      if (odd > 0)
        oddity.begins(
          `${odd} of ${vectors.length} vectors of ${embedder.id} are not usable; those texts are found by words alone.`,
        );
      trouble.ends();
      failures = 0;
      return vectors;
    } catch (error) {
      if (signal.aborted) return undefined;
      trouble.begins(`Memory goes by shared words for now: ${toError(error).message}`);
      skip = Math.min(2 ** failures, MAX_SKIPPED_RECALLS);
      failures++;
      const { afterMs } = toError(error) as { readonly afterMs?: unknown };
      if (clock && typeof afterMs === "number") notBeforeMs = clock.now().getTime() + Math.min(afterMs, MAX_WAIT_MS);
      return undefined;
    }
  };
}

/** Lets the first of a row of failures be heard, until it works again. */
export function reportOutages(report: (problem: string) => void) {
  let down = false;
  return {
    begins(problem: string): void {
      if (!down) report(problem);
      down = true;
    },
    ends(): void {
      down = false;
    },
  };
}

/** Ends when the signal or the time is up even if the embedder takes no notice of either. */
async function request(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
  timeoutMs: number,
): Promise<readonly Float32Array[]> {
  if (embedder.local && !embedder.semantic) return embedder.embed(texts, signal);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { promise: over, reject } = Promise.withResolvers<never>();
  const stop = () => reject(limited.reason);
  limited.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([embedder.embed(texts, limited), over]);
  } finally {
    limited.removeEventListener("abort", stop);
  }
}

/** Throws when the answer as a whole is not what was asked for. */
function checked(
  vectors: readonly Float32Array[],
  expected: number,
  { id, dimensions }: Embedder,
): (Float32Array | null)[] {
  if (vectors.length !== expected)
    throw new Error(`the embedder ${id} gave ${vectors.length} vectors for ${expected} texts.`);
  const usable = vectors.map((vector) => toUnit(vector, dimensions));
  if (usable.length > 0 && usable.every((vector) => vector === null))
    throw new Error(
      `the embedder ${id} gave no usable vector: expected ${dimensions} finite numbers, got ${vectors[0]?.length}.`,
    );
  return usable;
}

/** Null for a vector that has no direction: wrong length, not finite, all zero. */
function toUnit(vector: Float32Array, dimensions: number): Float32Array | null {
  const norm = vector.length === dimensions ? Math.sqrt(dot(vector, vector)) : 0;
  if (!(norm > 0 && norm < Number.POSITIVE_INFINITY)) return null;
  return Math.abs(norm - 1) < 1e-4 ? vector : vector.map((component) => component / norm);
}
