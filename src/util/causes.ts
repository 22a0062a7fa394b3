/** causes.ts -- an error and what caused it, outermost first: what went wrong on a network stands two or three deep. */
import { toError } from "#core/errors.ts";

export type ChainError = Error & { readonly code?: unknown; readonly hint?: string };

/** At most eight; of several at once (one per address tried), the first. */
export function causes(thrown: unknown): readonly ChainError[] {
  const chain: ChainError[] = [];
  for (let next = thrown; next !== undefined && next !== null && chain.length < 8; ) {
    const error: ChainError = toError(next);
    chain.push(error);
    next = error.cause ?? (error as { errors?: readonly unknown[] }).errors?.[0];
  }
  return chain;
}
