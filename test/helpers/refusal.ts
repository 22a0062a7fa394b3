import { type GoaldError, isGoaldError } from "#core/errors.ts";

/** Returns the error of goald that a call throws or rejects with. Throws when the call succeeds or fails otherwise. */
export async function refusalOf(call: Promise<unknown> | (() => unknown)): Promise<GoaldError> {
  try {
    await (typeof call === "function" ? call() : call);
  } catch (error) {
    if (isGoaldError(error)) return error;
    throw error;
  }
  throw new Error("Expected an error of goald, got none.");
}

/** Returns what a promise rejects with, or `no error`. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no error",
    (error: unknown) => error,
  );
