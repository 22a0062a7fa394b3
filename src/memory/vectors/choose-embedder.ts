/**
 * choose-embedder.ts -- uses a server's embedder, or the offline one if the server has none.
 *
 * Many chat servers have no embeddings. The first request decides for the rest of the process: an answer selects the
 * server; no connection, or a permanent refusal, selects the local embedder. Any other failure (busy, temporary)
 * decides nothing and reaches the caller, as does every failure after the server's first answer: a switch would discard
 * all of its vectors because of one bad minute.
 *
 * `id`, `dimensions`, `local`, `semantic` and `isInstant` are those of the embedder in use. They may change during the first `embed` and
 * never after it. Other calls wait for it, so the properties describe the vectors when `embed` resolves.
 */
import { toError } from "#core/errors.ts";
import type { CountTokens, Embedder } from "#core/ports/memory.ts";

/** Calls `onFallback` once, with the reason, when it selects the local embedder. */
export function fallbackEmbedder(primary: Embedder, local: Embedder, onFallback: (reason: string) => void): Embedder {
  let chosen: Embedder | undefined;
  let first: Promise<unknown> = Promise.resolve();

  async function embedFirst(
    texts: readonly string[],
    signal: AbortSignal,
    countTokens?: CountTokens,
  ): Promise<readonly Float32Array[]> {
    if (chosen) return chosen.embed(texts, signal, countTokens);
    try {
      const vectors = await primary.embed(texts, signal, countTokens);
      chosen = primary;
      return vectors;
    } catch (error) {
      if ((signal.aborted && !isTimeout(signal)) || !isPermanent(error)) throw error;
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
    get isInstant() {
      return (chosen ?? primary).isInstant ?? false;
    },
    embed(texts, signal, countTokens) {
      if (chosen) return chosen.embed(texts, signal, countTokens);
      const turn = first.then(() => embedFirst(texts, signal, countTokens));
      first = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** A timeout counts as no connection; a person's Ctrl-C does not. */
const isTimeout = (signal: AbortSignal): boolean =>
  (signal.reason as { name?: unknown } | undefined)?.name === "TimeoutError";

/** Statuses of a permanent refusal: a missing path, model or key. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 410, 422, 501]);
const UNREACHABLE =
  /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_[A-Z_]+|ERR_TLS_\w+|GOALD_KEY_MISSING|GOALD_HTTP_REFUSED|GOALD_CONFIG)$/;
const UNREACHABLE_NAME = /^(?:APIConnectionError|APIConnectionTimeoutError|TimeoutError)$/;

/** Whether a retry would fail the same way, by `status`, `code` and `name` of the error and its causes. */
export function isPermanent(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === "object" && cause !== null; depth++) {
    const { status, code, name } = cause as {
      readonly status?: unknown;
      readonly code?: unknown;
      readonly name?: unknown;
    };
    if (typeof status === "number" && REFUSALS.has(status)) return true;
    if (typeof code === "string" && UNREACHABLE.test(code)) return true;
    if ([name, cause.constructor?.name].some((text) => UNREACHABLE_NAME.test(String(text)))) return true;
    cause = (cause as { readonly cause?: unknown }).cause;
  }
  return false;
}

const MAX_CAUSES = 5;
