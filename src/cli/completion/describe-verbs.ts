/** describe-verbs.ts -- what a completion script needs of the declared verbs. */
import type { Verb } from "../verb.ts";

export interface CompletedOption {
  /** `-a`, `--all`. */
  readonly names: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  /** Its value is an agent. */
  readonly takesAgent?: boolean;
  /** Empty when the value is free text or a file. */
  readonly choices: readonly string[];
}

export interface CompletedVerb {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** Its first argument is an agent. */
  readonly takesAgent: boolean;
  /** Values of its first argument. */
  readonly choices: readonly string[];
}

export const GLOBAL_OPTIONS: readonly CompletedOption[] = [
  { names: ["--home"], about: "use this home", takesValue: true, choices: [] },
  { names: ["--json"], about: "print JSON", takesValue: false, choices: [] },
  { names: ["--no-color"], about: "print without colour", takesValue: false, choices: [] },
  { names: ["--no-input"], about: "never ask questions", takesValue: false, choices: [] },
  { names: ["-h", "--help"], about: "print help", takesValue: false, choices: [] },
];

/** Verbs that `goald --help` lists, and the verbs below them. */
export function describeVerbs(verbs: readonly Verb[]): readonly CompletedVerb[] {
  const isShown = (name: string): boolean => verbs.some((verb) => verb.name === name && verb.group !== undefined);
  return verbs
    .filter(({ name }) => isShown(name.split(" ")[0] ?? ""))
    .map(({ name, summary, options = {}, arguments: [first] = [] }) => ({
      name,
      summary,
      options: Object.values(options).map(({ flags, about, choices = [] }) => ({
        names: flags.match(/(?<=^|[ ,])--?[\w-]+/g) ?? [],
        about,
        takesValue: flags.includes("<"),
        takesAgent: flags.includes("<agent>"),
        choices,
      })),
      takesAgent: first !== undefined && (/agent/.test(first.name) || /agent\//.test(first.about)),
      choices: first?.choices ?? [],
    }));
}

/** Names of the verbs below one, without its own name; `""`: the verbs of goald itself. */
export const verbsBelow = (verbs: readonly CompletedVerb[], parent: string): readonly CompletedVerb[] =>
  parent === ""
    ? verbs.filter(({ name }) => !name.includes(" "))
    : verbs
        .filter(({ name }) => name.startsWith(`${parent} `))
        .map((verb) => ({ ...verb, name: verb.name.slice(parent.length + 1) }));

/** Verbs that have verbs below them. `memory` takes its agent before the verb. */
export const parentsOf = (verbs: readonly CompletedVerb[]): readonly string[] => [
  ...new Set(verbs.flatMap(({ name }) => (name.includes(" ") ? [name.split(" ")[0] as string] : []))),
];

export const HELP_VERB = { name: "help", summary: "explain a verb" } as const;

/** Verbs whose first word is an agent. */
export const agentVerbs = (verbs: readonly CompletedVerb[]): readonly string[] => [
  ...verbs.filter(({ name, takesAgent }) => takesAgent && !name.includes(" ")).map(({ name }) => name),
  "memory",
];

/** Such as `run --name`: options that take a value, after the first word of their verb. */
export const flagsWithValue = (verbs: readonly CompletedVerb[]): readonly string[] =>
  flagsOf(verbs, ({ takesValue }) => takesValue);

/** Options whose value is free text or a file. */
export const flagsWithText = (verbs: readonly CompletedVerb[]): readonly string[] =>
  flagsOf(verbs, ({ takesValue, takesAgent, choices }) => takesValue && !takesAgent && choices.length === 0);

/** Options whose value is an agent. */
export const flagsWithAgent = (verbs: readonly CompletedVerb[]): readonly string[] =>
  flagsOf(verbs, ({ takesAgent }) => takesAgent === true);

/** Options whose value is one of a few words. */
export const flagsWithChoices = (
  verbs: readonly CompletedVerb[],
): readonly { readonly flags: readonly string[]; readonly choices: readonly string[] }[] =>
  verbs.flatMap((verb) =>
    verb.options
      .filter(({ choices }) => choices.length > 0)
      .map((option) => ({ flags: flagsOf([verb], (each) => each === option), choices: option.choices })),
  );

function flagsOf(verbs: readonly CompletedVerb[], isMeant: (option: CompletedOption) => boolean): readonly string[] {
  const flags = verbs.flatMap(({ name, options }) =>
    options.filter(isMeant).flatMap(({ names }) => names.map((flag) => `${name.split(" ")[0]} ${flag}`)),
  );
  return [...new Set(flags)];
}
