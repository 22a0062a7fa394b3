/** parser.ts -- builds the command line parser from the declared verbs. */
import { Argument, Command, Help, Option } from "commander";
import { editDistance, nearestName } from "#util/nearest-name.ts";
import { readVersion } from "../shipped.ts";
import { COMMON_CODES, codesInWords, type Verb, type VerbArgument, type VerbOption } from "./verb.ts";
import { SUMMARIES, VERB_NAMES, type VerbName } from "./verb-list.ts";

export type Call = (verb: Verb, args: readonly string[], options: Readonly<Record<string, unknown>>) => Promise<void>;

/**
 * The parser knows the `loaded` verbs with their arguments, options and help, or without any the names and summaries of all.
 * `isForNewcomer`: lists the first verbs only, as `goald --help` does. Hidden verbs would not be suggested for misspelt ones.
 */
export function buildParser(loaded: readonly Verb[], call: Call, isForNewcomer = false): Command {
  const program = new Command("goald")
    .description("Run agents that work on up to five goals each and leave their results in a folder.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--home <folder>", "use this home (default: GOALD_HOME, this checkout, a home above, or ~/goald)")
    .option("--json", "print JSON")
    .option("--no-color", "print without colour (also: NO_COLOR)")
    .option("--no-input", "never ask questions")
    .helpOption("-h, --help", "print help")
    .addHelpCommand(helpCommand("explain a verb: goald help run").helpGroup("This home:"))
    .exitOverride()
    .configureHelp(HELP_STYLE)
    .addHelpText("before", ROOT_EXAMPLES);
  if (isForNewcomer) program.addHelpText("after", "\nAll verbs: goald --help --all");
  if (loaded.length === 0)
    for (const name of VERB_NAMES) addCommand(name, program, isForNewcomer && !FIRST_VERBS.includes(name));
  for (const verb of loaded) declare(verb, addCommand(verb.name, program, false), call);
  return program;
}

const helpCommand = (summary: string): Command =>
  new Command("help").argument("[verb...]").helpOption(false).summary(summary);

/** Adds the verb below its parent, which precedes it in the list. */
function addCommand(name: VerbName, program: Command, isLeftOut: boolean): Command {
  const { group, summary } = SUMMARIES[name];
  const words = name.split(" ");
  const last = words.pop() ?? name;
  const parent = words.reduce((above, word) => above.commands.find((each) => each.name() === word) ?? above, program);
  const isHidden = isLeftOut || (group === undefined && parent === program);
  const command = parent.command(last, { hidden: isHidden }).summary(summary).configureHelp(HELP_STYLE);
  return group === undefined ? command : command.helpGroup(`${group}:`);
}

function declare(verb: Verb, command: Command, call: Call): void {
  const { summary, description = summary, examples, exitCodes } = verb;
  command
    .description(description)
    .helpOption("-h, --help", "print help")
    .addHelpText("before", ["Examples:", ...examples.map((line) => `  ${line}`), ""].join("\n"));
  for (const argument of verb.arguments ?? []) command.addArgument(argumentOf(argument));
  for (const option of Object.values(verb.options ?? {})) command.addOption(optionOf(option));
  if (verb.name.startsWith("memory")) command.configureHelp({ ...HELP_STYLE, commandUsage: () => usageOfMemory(verb) });
  const { run } = verb;
  if (!run) {
    command.addHelpCommand(helpCommand("explain one of these verbs"));
    return;
  }
  command
    .addHelpText("after", () => `\nExit codes:\n${codesInWords({ ...COMMON_CODES, ...exitCodes })}`)
    .action(() => call(verb, command.args, command.optsWithGlobals()));
}

function argumentOf({ name, about, choices }: VerbArgument): Argument {
  const argument = new Argument(name, about);
  return choices ? argument.choices(choices) : argument;
}

function optionOf({ flags, about, choices, parse, isRequired = false, default: value }: VerbOption): Option {
  const option = new Option(flags, about).makeOptionMandatory(isRequired);
  if (choices) option.choices(choices);
  if (parse) option.argParser(parse);
  return value === undefined ? option : option.default(value);
}

/** The agent comes before the verb of memory. */
function usageOfMemory({ name, arguments: given = [] }: Verb): string {
  const [, verb = "<verb>"] = name.split(" ");
  const rest = given.slice(1).map((argument) => argument.name);
  return ["goald memory <agent>", verb, ...rest, "[options]"].join(" ");
}

/** `goald help run` → `run --help`; `memory chef list` → `memory list chef`; no verb → `plain`. */
export const rewriteArgs = (args: readonly string[]): readonly string[] => withVerb(withMemory(withHelp(args)));

/** Indexes of arguments that are neither options nor the folder after --home. */
const placesOfWords = (args: readonly string[]): readonly number[] =>
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

/** `memory chef` means list. A misspelt verb causes an error about the verb, not about the agent. */
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

const ROOT_EXAMPLES = `Examples:
  goald demo                                      watch a scripted agent: no key needed
  goald run                                       set up an agent by questions and run it
  goald run -d "Plan a week of meals in plan.md"  run an agent in the background
  goald ps                                        list agents;  goald attach ID: follow one
  goald say ID "Leave out the prices"             send an agent a message
`;

/** The verbs that a newcomer needs. `goald --help` lists only these, unless `--all` is there too. */
export const FIRST_VERBS: readonly string[] = [
  "run",
  "demo",
  "ps",
  "attach",
  "show",
  "say",
  "approve",
  "stop",
  "resume",
  "diff",
  "restore",
  "doctor",
];

/** Shows only names in the list of verbs. */
const HELP_STYLE: Partial<Help> = {
  showGlobalOptions: true,
  subcommandTerm: (verb) => {
    const isShort = verb.parent?.parent == null || verb.parent.name() === "memory";
    return isShort ? verb.name() : new Help().subcommandTerm(verb);
  },
};

/** Verbs of other programs, with goald's equivalents. */
const FOREIGN: Readonly<Record<string, string>> = {
  ls: "ps",
  list: "ps",
  agents: "ps",
  top: "ps --watch",
  inspect: "show",
  report: "show ID --report",
  files: "show ID --files",
  remember: "memory <agent> add",
  recall: "memory <agent> search",
  forget: "memory <agent> forget",
  log: "logs",
  journal: "logs",
  tail: "logs -f",
  tell: "say",
  message: "say",
  feedback: "say",
  continue: "resume",
  unpause: "resume",
  kill: "stop --now",
  start: "run",
  new: "commands NAME --new",
  "install-service": "help up; docs/service.md has a unit and a plist",
  create: "run",
  remove: "rm",
  delete: "rm",
  yes: "approve",
  no: "deny",
  undo: "restore",
  set: "config",
  settings: "config",
  login: "doctor",
  info: "show",
  cost: "show ID",
  usage: "ps",
  inbox: "ps",
  tree: "ps",
  chat: "attach",
  web: "dashboard --open",
  open: "show ID --files",
  export: "events ID --json",
  prune: "rm --ended",
  setup: "init",
  version: "--version",
};

/** Calls in which several words are often meant as one text. */
const ONE_TEXT: Readonly<Record<string, string>> = {
  "goald run": 'A goal is one text: goald run -d "…"',
  "goald config": "To write a setting: goald config NAME VALUE",
};

/** Returns the hint for a call that the parser rejects. `suggestion`: the parser's own, or "". */
export function hintFor(verb: Command, message: string, suggestion: string): string {
  const path = pathOf(verb);
  const [, word = ""] = /^unknown command '(.+)'$/.exec(message) ?? [];
  const meant = path === "goald" && Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined;
  if (meant !== undefined) return `Did you mean goald ${meant}?`;
  if (suggestion !== "" && (word === "" || isNear(word, suggestion))) return suggestion;
  const oneText = Object.hasOwn(ONE_TEXT, path) && message.startsWith("too many arguments");
  if (oneText) return `${ONE_TEXT[path]}. Put several words in quotes.`;
  return `${path === "goald" ? "See what there is" : "See how it is called"}: ${path} --help`;
}

/** Short words are near many verbs: one letter may differ, or two neighbours may have changed places. */
function isNear(word: string, suggestion: string): boolean {
  const [, verb = ""] = /^Did you mean (\S+)\?$/.exec(suggestion) ?? [];
  return word.length > 6 || editDistance(word, verb) <= 1;
}

const pathOf = (verb: Command): string => (verb.parent ? `${pathOf(verb.parent)} ${verb.name()}` : verb.name());

export const allVerbs = (verb: Command): readonly Command[] => [verb, ...verb.commands.flatMap(allVerbs)];
