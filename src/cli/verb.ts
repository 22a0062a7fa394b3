/**
 * verb.ts -- what a verb of the command line declares about itself.
 *
 * Each file of verbs/ exports one `verb`. The parser, the help, the shell completion and docs/verbs.md are made from it.
 */

import type { GlobalOptions } from "#cli/shared/context.ts";
import type { EXIT } from "#core/errors.ts";

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
  /** `-a, --all` or `--since <step>`. The long name in camel case is its key in `options`. */
  readonly flags: string;
  readonly about: string;
  readonly default?: T;
  readonly choices?: readonly string[];
  readonly isRequired?: boolean;
  /** Returns the value of the option. Throws InvalidArgumentError. `before`: the value so far of an option that is repeated. */
  parse?(text: string, before?: T): T;
}

export type ExitCodes = { readonly [Name in keyof typeof EXIT]?: string };

type Options = Readonly<Record<string, VerbOption>>;

type ValueOf<O> = O extends { readonly choices: readonly (infer C)[] } ? C : O extends VerbOption<infer T> ? T : never;

/** What `run` gets of the declared options. */
export type OptionValues<O> = GlobalOptions & { readonly [Key in keyof O]?: ValueOf<O[Key]> };

export type LoadVerbs = () => Promise<readonly Verb[]>;

export interface Verb<O = Options> {
  /** `run`, or `config set` for a verb below another one. */
  readonly name: string;
  /** Verbs without a group are left out of `goald --help`. */
  readonly group?: Group;
  /** A few words for the list of all verbs. */
  readonly summary: string;
  /** Says more than the summary at the top of the verb's own help. */
  readonly description?: string;
  /** Calls to paste, each beginning with `goald`. */
  readonly examples: readonly string[];
  readonly arguments?: readonly VerbArgument[];
  readonly options?: O;
  /** Exit codes besides 0, 1 and 2 of any verb, or what these mean here. */
  readonly exitCodes?: ExitCodes;
  /** Resolves to the exit code. `loadVerbs` loads all verbs. Absent: the verb only has verbs below it. */
  run?(args: readonly string[], options: OptionValues<O>, loadVerbs: LoadVerbs): Promise<number>;
}

export const defineVerb = <const O extends Options = Record<never, never>>(verb: Verb<O>): Verb => verb as Verb;
