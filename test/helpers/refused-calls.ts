/** refused-calls.ts -- tables of calls that goald refuses, judged in one test each. */
import { errorOf, type Goald, type Words, wordsOf } from "./goald.ts";

/** A call, its exit code, and what its message and its hint say. */
export type RefusedCall = readonly [call: Words, code: number, message: RegExp, hint?: RegExp];

/** Makes each call with --json and returns those that were not refused so: one JSON error and nothing on standard output. */
export async function notRefused(goald: Pick<Goald, "ask">, calls: readonly RefusedCall[]): Promise<readonly object[]> {
  const others: object[] = [];
  for (const [words, code, message, hint = /^/] of calls) {
    const args = [...wordsOf(words), "--json"];
    const ended = await goald.ask(args);
    const isRefused = ended.code === code && ended.stdout === "" && isError(ended.stderr, message, hint);
    if (!isRefused) others.push({ args, expected: { code, message, hint }, ended });
  }
  return others;
}

function isError(stderr: string, message: RegExp, hint: RegExp): boolean {
  if (!stderr.startsWith('{"error":') || /undefined|\[object/.test(stderr)) return false;
  const error = errorOf({ stderr });
  return /^GOALD_[A-Z_]+$/.test(error.code) && message.test(error.message) && hint.test(error.hint);
}
