/** causes.ts -- lists an error and its causes. Network errors have the useful one two or three levels deep. */
import { toError } from "#core/errors.ts";

export type ChainError = Error & { readonly code?: unknown; readonly hint?: string };

/** Outermost first, at most eight. Of an AggregateError (one error per address tried) only the first is followed. */
export function listCauses(thrown: unknown): readonly ChainError[] {
  const chain: ChainError[] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < 8; ) {
    const error: ChainError = toError(next);
    chain.push(error);
    next = error.cause ?? (error as { errors?: readonly unknown[] }).errors?.[0];
  }
  return chain;
}
