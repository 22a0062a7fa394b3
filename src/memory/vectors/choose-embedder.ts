/**
 * choose-embedder.ts -- a server's embedder where there is one, the offline one where there is not.
 *
 * Many chat servers have no embeddings. The first request decides for the rest of the process: an
 * answer settles on the server; no connection, or a refusal that will not change, settles on the
 * local one. Anything else (busy, a fault in between) decides nothing and is the caller's to handle,
 * as is every failure after the server has once answered: switching then would throw
 * away its vectors because of one bad minute.
 *
 * `id`, `dimensions`, `local` and `semantic` are those of the one in use; they may change during the first
 * `embed` and never after it. While that is under way every other call waits for its outcome, so that
 * what they say when `embed` resolves is true of the vectors that it gave.
 */
import { toError } from "#core/errors.ts";
import type { Embedder } from "#core/ports/vectors.ts";

/** `onFallback` hears once, with the reason in words, that the local embedder is used. */
export function fallbackEmbedder(primary: Embedder, local: Embedder, onFallback: (reason: string) => void): Embedder {
  let chosen: Embedder | undefined;
  let trial: Promise<unknown> = Promise.resolve();

  async function tryPrimary(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    if (chosen) return chosen.embed(texts, signal);
    try {
      const vectors = await primary.embed(texts, signal);
      chosen = primary;
      return vectors;
    } catch (error) {
      if ((signal.aborted && !timedOut(signal)) || !willNotChange(error)) throw error;
      chosen = local;
      onFallback(toError(error).message);
      return local.embed(texts, signal);
    }
  }

  return {
    get id() {
      return (chosen ?? primary).id;
    },
    get dimensions() {
      return (chosen ?? primary).dimensions;
    },
    get local() {
      return (chosen ?? primary).local;
    },
    get semantic() {
      return (chosen ?? primary).semantic;
    },
    embed(texts, signal) {
      if (chosen) return chosen.embed(texts, signal);
      const turn = trial.then(() => tryPrimary(texts, signal));
      trial = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Silence until the caller's time limit is no connection; a person's Ctrl-C says nothing about the server. */
const timedOut = (signal: AbortSignal): boolean =>
  (signal.reason as { name?: unknown } | undefined)?.name === "TimeoutError";

/** The request itself is refused: the path, the model or the key is not there, and the next try meets the same. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 410, 422, 501]);
const UNREACHABLE =
  /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_[A-Z_]+|ERR_TLS_\w+|GOALD_KEY_MISSING|GOALD_HTTP_REFUSED|GOALD_CONFIG)$/;
const UNREACHABLE_NAME = /^(?:APIConnectionError|APIConnectionTimeoutError|TimeoutError)$/;

/** Looks at `status`, `code` and `name` of the error and of what caused it, whoever's class it is. */
export function willNotChange(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === "object" && cause !== null; depth++) {
    const { status, code, name } = cause as {
      readonly status?: unknown;
      readonly code?: unknown;
      readonly name?: unknown;
    };
    if (typeof status === "number" && REFUSALS.has(status)) return true;
    if (typeof code === "string" && UNREACHABLE.test(code)) return true;
    if ([name, cause.constructor?.name].some((called) => UNREACHABLE_NAME.test(String(called)))) return true;
    cause = (cause as { readonly cause?: unknown }).cause;
  }
  return false;
}

const MAX_CAUSES = 5;
