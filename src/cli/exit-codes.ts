/** exit-codes.ts -- the meanings of exit codes, including those that many verbs share. */
import { EXIT } from "#core/errors.ts";
import type { ExitCodes } from "./verb.ts";

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "done",
  error: "failed; the message names the reason",
  usage: "wrong call or wrong setting",
  notFound: "no such agent, step, file or memory",
  daemonUnreachable: "the daemon is not running or does not answer",
  keyMissing: "API key missing or refused",
  limit: "a limit of the agent was reached",
  conflict: "wrong state for this verb, or another goald owns this home",
  notReached: "the agent ended without reaching its goals",
  waitsForHuman: "the agent is paused or waits for a person",
  interrupted: "interrupted with Ctrl-C",
};

/** Exit codes of every verb. */
export const COMMON_CODES: ExitCodes = {
  ok: EXIT_MEANINGS.ok,
  error: EXIT_MEANINGS.error,
  usage: EXIT_MEANINGS.usage,
};

export const NO_AGENT: ExitCodes = { notFound: "no such agent" };

/** Exit codes of verbs that call the daemon, or change the store while no daemon runs. */
export const HOST_CODES: ExitCodes = {
  daemonUnreachable: "the daemon cannot be started or does not answer",
  conflict: EXIT_MEANINGS.conflict,
};

/** Exit codes of verbs that run an agent, or follow one to its end. */
export const RUN_CODES: ExitCodes = {
  ...HOST_CODES,
  ok: "the agent finished",
  keyMissing: EXIT_MEANINGS.keyMissing,
  limit: EXIT_MEANINGS.limit,
  notReached: EXIT_MEANINGS.notReached,
  waitsForHuman: EXIT_MEANINGS.waitsForHuman,
  interrupted: EXIT_MEANINGS.interrupted,
};

/** Returns one line per code, in order. */
export const codesInWords = (codes: ExitCodes): string =>
  Object.entries(EXIT)
    .map(([name, code]) => ({ code, meaning: codes[name as keyof typeof EXIT] }))
    .filter(({ meaning }) => meaning !== undefined)
    .map(({ code, meaning }) => `  ${`${code}`.padEnd(5)} ${meaning}\n`)
    .join("");
