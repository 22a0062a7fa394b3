/**
 * errors.ts -- every error that goald throws on purpose, with its code and exit code. A message says what was expected,
 * what came, and what to do next. A failure that the model can act on is not an error but an observation.
 */
import type { OutsideSource } from "./provenance.ts";

/** Exit codes of the command line, documented in docs/verbs.md. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  daemonUnreachable: 4,
  keyMissing: 5,
  limit: 6,
  conflict: 7,
  notReached: 10,
  waitsForHuman: 11,
  interrupted: 130,
} as const;

const EXIT_OF = {
  GOALD_USAGE: EXIT.usage,
  GOALD_CONFIG: EXIT.usage,
  GOALD_NOT_FOUND: EXIT.notFound,
  GOALD_DAEMON: EXIT.daemonUnreachable,
  GOALD_KEY_MISSING: EXIT.keyMissing,
  GOALD_ALREADY_RUNNING: EXIT.conflict,
  GOALD_HOME_UNTRUSTED: EXIT.error,
  GOALD_HOME_UNWRITABLE: EXIT.error,
  GOALD_COMMAND_INVALID: EXIT.usage,
  GOALD_TEMPLATE: EXIT.usage,
  GOALD_PROMPT_TOO_LONG: EXIT.usage,
  GOALD_STORE_FULL: EXIT.error,
  GOALD_STORE_DAMAGED: EXIT.error,
  GOALD_STORE_TOO_NEW: EXIT.error,
  GOALD_STORE_TOO_OLD: EXIT.error,
  /** The log does not end at the expected event: another writer appended. */
  GOALD_CONFLICT: EXIT.conflict,
  /** The lease is over: another host has claimed the agent. */
  GOALD_FENCED: EXIT.conflict,
  GOALD_HTTP_REFUSED: EXIT.error,
  GOALD_HTTP_TOO_LARGE: EXIT.error,
  GOALD_PATH_REFUSED: EXIT.error,
  GOALD_FILE_MISSING: EXIT.notFound,
  GOALD_FILE_TOO_LARGE: EXIT.error,
  GOALD_FILE: EXIT.error,
  /** A change would exceed one of the agent's quotas. */
  GOALD_QUOTA_EXCEEDED: EXIT.limit,
  /** A service that a command used has failed. The model reads the message. */
  GOALD_SEARCH: EXIT.error,
  GOALD_WEB: EXIT.error,
  GOALD_GIT: EXIT.error,
  GOALD_MODEL: EXIT.error,
  GOALD_MEDIA: EXIT.error,
  GOALD_POST: EXIT.error,
  /** A change of the plan that does not fit it. The model reads the message. */
  GOALD_PLAN: EXIT.error,
  /** A change of a memory that the agent may not make. The model reads the message. */
  GOALD_MEMORY: EXIT.error,
  /** A command's sub-task ended without a result. The model reads the message. */
  GOALD_SUBTASK: EXIT.error,
  /** The request would exceed one of the agent's limits. */
  GOALD_LIMIT: EXIT.limit,
  /** A service without the settings it needs. */
  GOALD_NOT_CONFIGURED: EXIT.usage,
  /** A recording that cannot be played, or a replay that differs from its recording. */
  GOALD_REPLAY: EXIT.error,
  GOALD_INTERNAL: EXIT.error,
} as const;

export type ErrorCode = keyof typeof EXIT_OF;

interface ErrorOptions extends Partial<Pick<GoaldError, "hint" | "words" | "outside">> {
  readonly cause?: unknown;
}

export class GoaldError extends Error {
  override readonly name = "GoaldError";
  readonly code: ErrorCode;
  /** What a person can do next; empty when the message is enough. */
  readonly hint: string;
  /** Words of a stranger that belong to the failure, such as a server's message. Never a part of `message` and `hint`. */
  readonly words: string;
  /** Sources of the outside words that arrived before the failure: none for an empty list, not known when undefined. */
  readonly outside: readonly OutsideSource[] | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? "";
    this.words = options.words ?? "";
    this.outside = options.outside;
  }

  get exitCode(): number {
    return EXIT_OF[this.code];
  }
}

/** No daemon replies, or it cannot do what was asked. */
export const daemonError = (message: string, hint: string, cause?: unknown): GoaldError =>
  new GoaldError("GOALD_DAEMON", message, { hint, cause });

/** The request does not fit what is there now. `hint`: what to do instead. */
export const conflict = (message: string, hint: string): GoaldError =>
  new GoaldError("GOALD_CONFLICT", message, { hint });

/** Compares name and code, because `instanceof` is false across realms (jest runs tests in one). */
export const isGoaldError = (value: unknown, code?: ErrorCode): value is GoaldError =>
  Error.isError(value) && value.name === "GoaldError" && (code === undefined || codeOf(value) === code);

/** For `catch`: returns `fallback` when something does not exist (any more), and throws every other error. */
export const ifNotFound =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (isGoaldError(error, "GOALD_NOT_FOUND")) return fallback;
    throw error;
  };

/** The error with the sources of the outside words that arrived before it, unless it names its own. */
export function withOutside(error: unknown, outside: readonly OutsideSource[]): unknown {
  if (!isGoaldError(error) || error.outside) return error;
  const { code, message, hint, words, cause } = error;
  return new GoaldError(code, message, { hint, words, outside, cause });
}

/** What `act` returns; undefined when it throws. */
export function orUndefined<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Turns any thrown value into an Error with a message. */
export function toError(thrown: unknown): Error {
  return Error.isError(thrown)
    ? thrown
    : new Error(typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown)));
}

/** The code of an error of the system or of goald; undefined for what has none. */
export const codeOf = (thrown: unknown): string | undefined =>
  Error.isError(thrown) && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;

/** By the codes of the system's errors. */
const ON_SHORTAGE: Readonly<Record<string, string>> = {
  EAGAIN: "End some processes, or raise their limit (ulimit -u), then: goald restart",
  EMFILE: "Raise the limit of open files (ulimit -n), then: goald restart",
  ENFILE: "End some programs: the machine can open no more files",
  ENOMEM: "End some programs: the machine has no memory left",
};
/** Returns what a person can do about a machine that had too little of something; undefined for other errors. */
export function machineAdvice(thrown: unknown): string | undefined {
  const code = codeOf(thrown) ?? "";
  // The machine has too many processes only when a new one could not start.
  return code === "EAGAIN" && !toError(thrown).message.startsWith("spawn ") ? undefined : ON_SHORTAGE[code];
}
