/**
 * memory-verbs.ts -- the verbs about what agents remember: memory and ingest.
 *
 * A memory is named before what is done with it: `goald memory foo list`. The parser wants it behind; `withMemory` puts it there.
 */
import { type Command, Option } from "commander";
import { nearestName } from "#util/nearest-name.ts";
import { type Bind, positiveInteger } from "./bind.ts";
import { HELP_STYLE } from "./help.ts";

const AGENT = ["<agent>", "id or name; shared: the memory that all agents read"] as const;
const IDS = ["<ids...>", "as `list` shows them, such as foo/12, or 12 for short"] as const;

export function addMemoryVerbs(program: Command, bind: Bind): void {
  const memory = program
    .command("memory")
    .description("what an agent remembers: look, search, add, correct, forget")
    .usage("<agent> <verb> [options]")
    .configureHelp({ ...HELP_STYLE, subcommandTerm: (verb) => verb.name() })
    .addHelpText("before", MEMORY_EXAMPLES);
  addLooking(memory, bind);
  addChanging(memory, bind);
  addFiles(memory, bind);
  for (const verb of memory.commands) {
    const rest = verb.registeredArguments.slice(1).map((argument) => {
      const words = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? `<${words}>` : `[${words}]`;
    });
    const usage = ["goald memory <agent>", verb.name(), ...rest, "[options]"].join(" ");
    verb.configureHelp({ ...HELP_STYLE, commandUsage: () => usage });
  }
  program
    .command("ingest")
    .argument(...AGENT)
    .argument("<sources...>", "files, folders, addresses of pages")
    .description("have files or pages read into an agent's memory, in pieces; again: only what changed")
    .addHelpText("before", INGEST_EXAMPLES)
    .option("--shared", "into the memory that all agents of this home read")
    .action(
      bind(async ([agent = "", ...sources], options) =>
        (await import("../verbs/ingest.ts")).ingest(agent, sources, options),
      ),
    );
}

function addLooking(memory: Command, bind: Bind): void {
  const looking = () => import("../verbs/memory.ts");
  memory
    .command("list")
    .argument(...AGENT)
    .description("what it remembers, the newest first")
    .option("-a, --all", "those too that were forgotten, or whose place another took")
    .addOption(new Option("--kind <kind>", "only those").choices(["step", "fact", "note", "file_chunk", "reflection"]))
    .addOption(new Option("-n, --limit <number>", "at most so many; default: 50").argParser(positiveInteger))
    .addOption(shared())
    .action(bind(async ([agent = ""], options) => (await looking()).listMemories(agent, options)));
  memory
    .command("search")
    .argument(...AGENT)
    .argument("<words...>", "what it might be busy with")
    .description("what it would recall if it were busy with these words")
    .addOption(new Option("-n, --limit <number>", "at most so many; default: as the agent").argParser(positiveInteger))
    .addOption(shared())
    .action(bind(async ([agent = "", ...words], options) => (await looking()).searchMemory(agent, words, options)));
  memory
    .command("show")
    .argument(...AGENT)
    .argument("<id>", IDS[1])
    .description("one memory in full")
    .addOption(shared())
    .action(bind(async ([agent = "", id = ""], options) => (await looking()).showMemory(agent, id, options)));
  memory
    .command("why")
    .argument(...AGENT)
    .argument("<id>", IDS[1])
    .description("where a memory comes from: step, thought, file or page; and when it was recalled")
    .addOption(shared())
    .action(bind(async ([agent = "", id = ""], options) => (await looking()).whyMemory(agent, id, options)));
}

function addChanging(memory: Command, bind: Bind): void {
  const changing = () => import("../verbs/memory-edit.ts");
  memory
    .command("add")
    .argument(...AGENT)
    .argument("[words...]", "what it is to remember; default: standard input")
    .description("put a note of yours into it")
    .option("--fact", "as a fact, not as a note")
    .option("--pin", "and have it recalled whatever the agent does")
    .addOption(shared())
    .action(bind(async ([agent = "", ...words], options) => (await changing()).addMemory(agent, words, options)));
  memory
    .command("correct")
    .argument(...AGENT)
    .argument("<id>", "of the memory that is wrong")
    .argument("[words...]", "what is right; default: standard input")
    .description("put the right words in the place of a wrong memory, which is never recalled again")
    .addOption(shared())
    .action(
      bind(async ([agent = "", id = "", ...words], options) =>
        (await changing()).correctMemory(agent, id, words, options),
      ),
    );
  const many = [
    ["pin", "have memories recalled whatever the agent does", "pinMemories"],
    ["unpin", "no longer", "unpinMemories"],
    ["forget", "purge the text of memories; they are never recalled again", "forgetMemories"],
  ] as const;
  for (const [name, description, act] of many)
    memory
      .command(name)
      .argument(...AGENT)
      .argument(...IDS)
      .description(description)
      .addOption(shared())
      .action(bind(async ([agent = "", ...ids], options) => (await changing())[act](agent, ids, options)));
}

function addFiles(memory: Command, bind: Bind): void {
  const files = () => import("../verbs/memory-file.ts");
  memory
    .command("export")
    .argument(...AGENT)
    .argument("[file]", "default: standard output")
    .description("write it as JSON lines")
    .addOption(shared())
    .action(bind(async ([agent = "", file], options) => (await files()).exportMemories(agent, file, options)));
  memory
    .command("import")
    .argument(...AGENT)
    .argument("<file>", "JSON lines as export writes them; -: standard input")
    .description("add what such a file holds and is not there yet")
    .option("--trust", "trust each line as far as it says; without this, as a file's words at most")
    .addOption(shared())
    .action(bind(async ([agent = "", file = ""], options) => (await files()).importMemories(agent, file, options)));
}

const shared = (): Option => new Option("--shared", "the memory that all agents of this home read");

/** `memory foo list …` is `memory list foo …`; `memory foo` lists. */
export function withMemory(program: Command, args: readonly string[]): readonly string[] {
  const words = args.flatMap((arg, at) => (arg.startsWith("-") || args[at - 1] === "--home" ? [] : [at]));
  const [verb = -1, first = -1, second = -1] = words;
  if (args[verb] !== "memory" || first === -1) return args;
  const names = program.commands.find((each) => each.name() === "memory")?.commands.map((each) => each.name()) ?? [];
  const isVerb = (at: number): boolean => names.includes(args[at] ?? "");
  const swapped = [...args];
  // A misspelt verb is complained of, and not the agent's name.
  const isMeant = (at: number): boolean => nearestName(args[at] ?? "", names) !== undefined;
  if (isVerb(second) || (second !== -1 && !isVerb(first) && (isMeant(second) || !isMeant(first))))
    [swapped[first], swapped[second]] = [args[second] as string, args[first] as string];
  else if (second === -1 && !isVerb(first) && args[first] !== "help") swapped.splice(first, 0, "list");
  return swapped;
}

const MEMORY_EXAMPLES = `Examples:
  goald memory foo list
  goald memory foo search "opening hours"
  goald memory foo why 12
  goald memory foo add "Ada leads the project" --pin
  goald memory foo correct 12 "It opens at nine"
  goald memory foo forget 12 13
  goald memory foo export foo.jsonl
  goald memory foo import foo.jsonl
`;

const INGEST_EXAMPLES = `Examples:
  goald ingest foo notes.md
  goald ingest foo docs/
  goald ingest foo --shared handbook/
`;
