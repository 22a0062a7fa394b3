/**
 * cli.ts -- the command line: parses, calls one function per verb, prints what it throws.
 *
 * Data goes to standard output, talk about trouble to standard error. Every verb takes --json;
 * the exit codes are those of core/errors.ts. The verbs are loaded when they are called.
 */
import { Command, type CommanderError, InvalidArgumentError, Option } from "commander";
import { type ErrorCode, EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { readVersion } from "./shipped.ts";

/** Runs one command line and resolves to its exit code; never rejects. */
export async function main(args: readonly string[]): Promise<number> {
  watchOutput();
  let code: number = EXIT.ok;
  const program = buildProgram((verb) => {
    return async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      code = await verb(command.args, command.optsWithGlobals());
    };
  }, args.includes("--json"));
  try {
    await program.parseAsync(withVerb(args), { from: "user" });
    return code;
  } catch (error) {
    const thrown = toError(error);
    if (isCommanderError(thrown)) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(thrown, args.includes("--json"));
  }
}

/** Plain `goald` is `goald start`. */
function withVerb(args: readonly string[]): string[] {
  const isVerb = (arg: string, at: number): boolean => !arg.startsWith("-") && args[at - 1] !== "--home";
  const asksAboutGoald = args.some((arg) => ["-h", "--help", "-V", "--version"].includes(arg));
  return args.some(isVerb) || asksAboutGoald ? [...args] : ["start", ...args];
}

type Options = Readonly<Record<string, unknown>>;
type Verb = (args: readonly string[], options: Options) => Promise<number>;
type Bind = (verb: Verb) => (...given: unknown[]) => Promise<void>;

function buildProgram(bind: Bind, json: boolean): Command {
  const program = new Command("goald")
    .description(
      "The goal daemon: give it a name, a role and up to five goals; it works on them and leaves its work in a folder.",
    )
    .version(readVersion(), "-V, --version")
    .option("--home <folder>", "the home to work in; default: GOALD_HOME, this checkout, or ~/goald")
    .option("--json", "print JSON, for programs")
    .option("--no-color", "print without colour (also: NO_COLOR)")
    .option("--no-input", "never ask anything")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => {
        const [message = "", ...suggestion] = clean(text)
          .replace(/^error: /, "")
          .trim()
          .split("\n");
        const hint = suggestion.join(" ").replace(/^\((.*)\)$/, "$1") || "See what there is: goald --help";
        write(describeError("GOALD_USAGE", message, hint, json));
      },
    });

  program
    .command("start")
    .description("on a terminal: set up an agent and run it; without one: the demo")
    .action(bind(async (_args, options) => (await import("./verbs/start.ts")).start(options)));

  addRunOptions(
    program
      .command("run")
      .argument("[goal]", "one more goal")
      .description("set up a new agent, by questions or by flags, and run it here")
      .addHelpText("before", RUN_EXAMPLES)
      .option("--name <name>", "the agent's name")
      .option("--role <role>", "what it is: “an assistant that …”")
      .option("-g, --goal <goal>", "a goal; repeat it for up to five", collect, [])
      .option("--from <file>", "read ai_name, ai_role and ai_goals from a YAML file"),
  ).action(bind(async ([goal], options) => (await import("./verbs/run.ts")).runVerb(goal, options)));

  addRunOptions(
    program
      .command("resume")
      .argument("[agent]", "id or name; default: the last one that is not finished")
      .description("go on with an agent where its log ends, after a pause, a limit or a crash"),
  ).action(bind(async ([agent], options) => (await import("./verbs/run.ts")).resumeVerb(agent, options)));

  addReadingVerbs(program, bind);

  program
    .command("demo")
    .description("a recorded agent at work: no key and no network needed")
    .action(bind(async (_args, options) => (await import("./verbs/demo.ts")).demoVerb(options)));
  return program;
}

const RUN_EXAMPLES = `Examples:
  goald run
  goald run --name Foo --role "an assistant that plans meals" -g "Plan a week" -g "Write it to plan.md"
  goald run --from agent.yaml --continuous --continuous-limit 50 --json
`;

function addRunOptions(command: Command): Command {
  return command
    .option("-c, --continuous", "run every command without asking")
    .addOption(
      new Option("-l, --continuous-limit <steps>", "stop after so many steps; with --continuous").argParser(
        positiveInteger,
      ),
    )
    .option("--model <name>", "the model to use, instead of SMART_LLM");
}

function addReadingVerbs(program: Command, bind: Bind): void {
  program
    .command("ps")
    .description("list the agents of this home")
    .action(bind(async (_args, options) => (await import("./verbs/read.ts")).ps(options)));
  program
    .command("show")
    .argument("<agent>", "id or name")
    .description("an agent's goals, state, cost and files")
    .action(bind(async ([agent], options) => (await import("./verbs/read.ts")).show(agent ?? "", options)));
  program
    .command("events")
    .argument("<agent>", "id or name")
    .description("an agent's log, one event a line")
    .addOption(new Option("--after <seq>", "only events after this number").argParser(positiveInteger))
    .action(bind(async ([agent], options) => (await import("./verbs/read.ts")).events(agent ?? "", options)));
  program
    .command("files")
    .argument("<agent>", "id or name")
    .description("what an agent wrote, and in which step")
    .action(bind(async ([agent], options) => (await import("./verbs/read.ts")).files(agent ?? "", options)));
  program
    .command("verify")
    .argument("[agent]", "id or name; default: all")
    .description("check the hash chain and every reference of the store")
    .action(bind(async ([agent], options) => (await import("./verbs/read.ts")).verify(agent, options)));
}

const isCommanderError = (error: Error): error is CommanderError =>
  "code" in error && String(error.code).startsWith("commander.");

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Expected a whole number from 1.");
}

function reportError(error: Error, json: boolean): number {
  const known = isGoaldError(error) ? error : new GoaldError("GOALD_INTERNAL", error.message, { cause: error });
  const { code, message, hint } = known;
  process.stderr.write(describeError(code, clean(message), clean(hint), json));
  if (code === "GOALD_INTERNAL" && process.env.GOALD_DEBUG) console.error(error.stack);
  return known.exitCode;
}

function describeError(code: ErrorCode, message: string, hint: string, json: boolean): string {
  if (json) return `${JSON.stringify({ error: { code, message, hint } })}\n`;
  return `goald: ${message}\n${hint ? `  ${hint.replaceAll("\n", "\n  ")}\n` : ""}`;
}

/** `goald events foo | head` ends quietly when head has seen enough; a full disk behind `> file` does not. */
function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A run finishes its step and stops; a verb that only looks has been read far enough.
    if (error.code === "EPIPE") {
      if (process.listenerCount("SIGPIPE") === 0) process.exit(EXIT.ok);
      process.emit("SIGPIPE");
      return;
    }
    console.error(`goald: Standard output could not be written: ${error.message}.`);
    process.exit(EXIT.error);
  });
  // Talk that nobody hears any more stops nothing.
  process.stderr.on("error", () => {});
}
