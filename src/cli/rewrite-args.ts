/** rewrite-args.ts -- converts the accepted forms of a call into the form that the parser reads. */
import { nearestName } from "#util/nearest-name.ts";
import { VERB_NAMES, type VerbName } from "./registry.ts";

/** `goald help run` → `run --help`; `memory foo list` → `memory list foo`; no verb → `plain`. */
export const rewriteArgs = (args: readonly string[]): readonly string[] => withVerb(withMemory(withHelp(args)));

/** Indexes of arguments that are neither options nor the folder after --home. */
export const placesOfWords = (args: readonly string[]): readonly number[] =>
  args.flatMap((arg, at) => (arg.startsWith("-") || args[at - 1] === "--home" ? [] : [at]));

const wordsOf = (args: readonly string[]): readonly string[] => placesOfWords(args).map((at) => args[at] as string);

/** Verbs that the parser needs for a rewritten call: the called verb, and its sub-verbs unless one is named. */
export function verbsIn(args: readonly string[]): readonly VerbName[] {
  const [verb = "", below = ""] = wordsOf(args);
  const names = VERB_NAMES.filter((name) => name === verb || name.startsWith(`${verb} `));
  const called = names.filter((name) => name === verb || name === `${verb} ${below}`);
  return called.length > 1 ? called : names;
}

/** A newcomer asks for help about goald itself, without `--all`. */
export function asksForFirstVerbs(args: readonly string[]): boolean {
  const [verb = "help", ...more] = wordsOf(args);
  return verb === "help" && more.length === 0 && !args.includes("--all");
}

function withVerb(args: readonly string[]): readonly string[] {
  const asksAboutGoald = args.some((arg) => ["-h", "--help", "-V", "--version"].includes(arg));
  return placesOfWords(args).length > 0 || asksAboutGoald ? args : ["plain", ...args];
}

/** Rewrites `goald help memory list` to `goald memory list --help`. An unknown verb stays and causes the usual error. */
function withHelp(args: readonly string[]): readonly string[] {
  const [help, ...asked] = wordsOf(args);
  const [verb] = asked;
  if (help !== "help" || verb === undefined) return args;
  if (verb === "help") return ["--help"];
  return VERB_NAMES.some((name) => name === verb) ? [...asked, "--help"] : [verb];
}

/** `memory foo` means list. A misspelt verb causes an error about the verb, not about the agent. */
function withMemory(args: readonly string[]): readonly string[] {
  const [verb = -1, first = -1, second = -1] = placesOfWords(args);
  if (args[verb] !== "memory" || first === -1) return args;
  const names = VERB_NAMES.filter((name) => name.startsWith("memory ")).map((name) => name.slice("memory ".length));
  const isVerb = (at: number): boolean => names.includes(args[at] ?? "");
  const isMeant = (at: number): boolean => nearestName(args[at] ?? "", names) !== undefined;
  if (isVerb(second) || (second !== -1 && !isVerb(first) && (isMeant(second) || !isMeant(first))))
    return args.with(first, args[second] as string).with(second, args[first] as string);
  if (second === -1 && !isVerb(first) && args[first] !== "help") return args.toSpliced(first, 0, "list");
  return args;
}
