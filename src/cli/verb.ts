/**
 * verb.ts -- the declaration of a verb of the command line.
 *
 * Each file of verbs/ exports one `verb`. The parser, the help, `complete` and docs/verbs.md use these
 * declarations.
 */

import type { GlobalOptions } from "#cli/shared/context.ts";
import type { EXIT } from "#core/errors.ts";
import type { VerbName } from "./registry.ts";

export type Group =
  | "Set agents going"
  | "Look at agents"
  | "Steer agents"
  | "Files of agents"
  | "Memory of agents"
  | "The daemon"
  | "This home";

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

export interface Verb<O = Options> {
  /** `run`, or `memory list` for a verb below another one. */
  readonly name: string;
  /** `goald --help` omits verbs without a group. */
  readonly group?: Group;
  /** Short description for the list of all verbs. */
  readonly summary: string;
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

export const defineVerb = <const O extends Options = Record<never, never>>(verb: Verb<O>): Verb => verb as Verb;
