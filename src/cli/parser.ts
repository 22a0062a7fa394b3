/** parser.ts -- builds the command line parser from the declared verbs. */
import { Argument, Command, Option } from "commander";
import { readVersion } from "../shipped.ts";
import { COMMON_CODES, codesInWords } from "./exit-codes.ts";
import { FIRST_VERBS, HELP_STYLE, ROOT_EXAMPLES } from "./help.ts";
import { VERB_NAMES, type VerbName } from "./registry.ts";
import { SUMMARIES } from "./summaries.ts";
import type { Verb, VerbArgument, VerbOption } from "./verb.ts";

/** Runs `verb` with the parsed arguments and options. */
export type Call = (verb: Verb, args: readonly string[], options: Readonly<Record<string, unknown>>) => Promise<void>;

/**
 * All verbs have their names and summaries; only the `loaded` ones have arguments, options and help.
 * `isForNewcomer`: lists the first verbs only, as `goald --help` does. Hidden verbs would not be suggested for misspelt ones.
 */
export function buildParser(loaded: readonly Verb[], call: Call, isForNewcomer = false): Command {
  const program = new Command("goald")
    .description("Run agents that work on up to five goals each and leave their results in a folder.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--home <folder>", "use this home (default: GOALD_HOME, this checkout, or ~/goald)")
    .option("--json", "print JSON")
    .option("--no-color", "print without colour (also: NO_COLOR)")
    .option("--no-input", "never ask questions")
    .helpOption("-h, --help", "print help")
    .addHelpCommand(helpCommand("explain a verb: goald help run").helpGroup("This home:"))
    .exitOverride()
    .configureHelp(HELP_STYLE)
    .addHelpText("before", ROOT_EXAMPLES);
  if (isForNewcomer) program.addHelpText("after", "\nAll verbs: goald --help --all");
  for (const name of VERB_NAMES) {
    const verb = loaded.find((each) => each.name === name);
    const command = addCommand(name, program, isForNewcomer && !FIRST_VERBS.includes(name));
    if (verb) declare(verb, command, call);
  }
  return program;
}

const helpCommand = (summary: string): Command =>
  new Command("help").argument("[verb...]").helpOption(false).summary(summary);

/** Adds the verb below its parent, which precedes it in the registry. */
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
    .addHelpText("after", `\nExit codes:\n${codesInWords({ ...COMMON_CODES, ...exitCodes })}`)
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
