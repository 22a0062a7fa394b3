/**
 * verb.ts -- the declaration of a verb of the command line.
 *
 * Each file of verbs/ exports one `verb`. The parser, the help, `complete` and docs/verbs.md use these
 * declarations.
 */
import type { GlobalOptions } from "#cli/shared/context.ts";
import { EXIT } from "#core/errors.ts";
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

/** Loads the verbs of these names, as the list of verbs has them. */
export type LoadVerbs = (names: readonly VerbName[]) => Promise<readonly Verb[]>;

/** What a verb's file declares. */
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
