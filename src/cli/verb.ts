/**
 * verb.ts -- the declaration of a verb of the command line. A file of verbs/ exports its `verb`, or a constant for each
 * of its verbs. The parser, the help, `complete` and docs/verbs.md use these declarations.
 */
import { InvalidArgumentError } from "commander";
import { EXIT, GoaldError } from "#core/errors.ts";
import type { GlobalOptions } from "./context.ts";
import type { VerbName, VerbSummary } from "./verb-list.ts";

export interface VerbArgument {
  /** `<agent>`, `[path]` or `[words...]`. */
  readonly name: string;
  readonly about: string;
  readonly choices?: readonly string[];
}

export interface VerbOption<T = unknown> {
  /** `-a, --all` or `--since <step>`. The key in `options` is the long name in camel case. */
  readonly flags: string;
  readonly about: string;
  readonly default?: T;
  readonly choices?: readonly string[];
  readonly isRequired?: boolean;
  /** Returns the value of the option. Throws InvalidArgumentError. `before`: the value so far of a repeated option. */
  parse?(text: string, before?: T): T;
}

export type ExitCodes = { readonly [Name in keyof typeof EXIT]?: string };

type Options = Readonly<Record<string, VerbOption>>;

type ValueOf<O> = O extends { readonly choices: readonly (infer C)[] } ? C : O extends VerbOption<infer T> ? T : never;

/** The declared options as `run` receives them. */
export type OptionValues<O> = GlobalOptions & { readonly [Key in keyof O]?: ValueOf<O[Key]> };

export type LoadVerbs = (names: readonly VerbName[]) => Promise<readonly Verb[]>;

/** A verb's file declares this; its name and summary are in verb-list.ts. */
export interface VerbDeclaration<O = Options> {
  /** Additional text at the top of the verb's own help. */
  readonly description?: string;
  /** Complete calls, each starting with `goald`. */
  readonly examples: readonly string[];
  readonly arguments?: readonly VerbArgument[];
  readonly options?: O;
  /** Exit codes besides the common 0, 1 and 2, or their special meanings for this verb. */
  readonly exitCodes?: ExitCodes;
  /** Resolves to the exit code. Absent: the verb only groups its sub-verbs. */
  run?(args: readonly string[], options: OptionValues<O>, loadVerbs: LoadVerbs): Promise<number>;
}

export interface Verb extends VerbDeclaration, VerbSummary {
  /** `run`, or `memory list` for a verb below another one. */
  readonly name: VerbName;
}

export const defineVerb = <const O extends Options = Record<never, never>>(verb: VerbDeclaration<O>): VerbDeclaration =>
  verb as VerbDeclaration;

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

/** The error of a call that cannot be meant. `hint`: what to write instead. */
export const usageError = (message: string, hint = ""): GoaldError => new GoaldError("GOALD_USAGE", message, { hint });

export const AGENT: VerbArgument = { name: "<agent>", about: "id or name" };

/** None with --all. */
export const ANY_AGENTS: VerbArgument = {
  name: "[agents...]",
  about: "ids or names (default: the only one that runs or waits)",
};

export const ONLY_AGENT: VerbArgument = {
  name: "[agent]",
  about: "id or name (default: the only one that could be meant)",
};

export const MEMORY_AGENT: VerbArgument = {
  name: "<agent>",
  about: "id or name; shared: the memory that all agents read",
};

export const MEMORY_ID: VerbArgument = {
  name: "<id>",
  about: "id as `list` shows it, such as chef/12, or 12 for short",
};

export const MEMORY_IDS: VerbArgument = {
  name: "<ids...>",
  about: "ids as `list` shows them, such as chef/12, or 12 for short",
};

export const flag = (flags: string, about: string): VerbOption<boolean> => ({ flags, about });

export const text = (flags: string, about: string): VerbOption<string> => ({ flags, about });

export const value = <T>(flags: string, about: string, parse: (text: string) => T): VerbOption<T> => ({
  flags,
  about,
  parse,
});

/** An option that may be repeated. Default: a text. */
export const values = <T = string>(
  flags: string,
  about: string,
  parse: (text: string) => T = (text) => text as T,
): VerbOption<readonly T[]> => ({ flags, about, parse: (given, before = []) => [...before, parse(given)] });

/** The number of a step. `first`: 0 also permits the time before the first step. */
export const step = (flags: string, about: string, first: 0 | 1 = 1): VerbOption<number> =>
  value(flags, about, wholeNumber(`the number of a step, from ${first}`, first));

/** Options that name the pending command, so that an answer reaches no other one. */
export const CALL_OPTIONS = {
  step: step("--step <number>", "only if the pending command is that of this step"),
  call: text("--call <id>", "only if the pending command has this id, such as c12-2 for the second of step 12"),
} as const;

export const positiveInteger = wholeNumber("a whole number from 1");

/** As long as the API lets a step go on. */
export const wholeSeconds = wholeNumber("whole seconds from 0 to 86400", 0, 86_400);

/** `expected`: the values in words, for the error. */
export function wholeNumber(expected: string, least = 1, most = 999_999_999): (given: string) => number {
  return (given) => {
    if (/^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most) return Number(given);
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}

export const SHARED: VerbOption<boolean> = flag("--shared", "use the memory that all agents of this home read");

export const ONLY: VerbOption<boolean> = flag("--only", "change this row alone, not the rows that say the same");

export const STOP_OPTIONS = {
  timeout: {
    ...value(
      "-t, --timeout <seconds>",
      "wait this many seconds for the steps under way, then cut them off",
      wholeSeconds,
    ),
    default: 30,
  },
  kill: flag("--kill", "kill the daemon if it does not stop in time; durable work is not lost"),
} as const;
