/**
 * cli.ts -- the command line: parses, calls one function per verb, prints what it throws.
 *
 * Data goes to standard output, talk about trouble to standard error. Every verb takes --json;
 * the exit codes are those of core/errors.ts. The verbs are loaded when they are called.
 */
import { Command, type CommanderError } from "commander";
import { callsFor } from "#cli/shared/own-calls.ts";
import { type ErrorCode, EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import type { Bind } from "./cli/bind.ts";
import { addDaemonVerbs } from "./cli/daemon-verbs.ts";
import { adviceOn, allVerbs, explainVerbs, HELP_STYLE, ROOT_EXAMPLES, withHelp } from "./cli/help.ts";
import { addHomeVerbs } from "./cli/home-verbs.ts";
import { addMemoryVerbs, withMemory } from "./cli/memory-verbs.ts";
import { addReadingVerbs } from "./cli/reading-verbs.ts";
import { addRunVerbs } from "./cli/run-verbs.ts";
import { addSteeringVerbs } from "./cli/steering-verbs.ts";
import { readVersion } from "./shipped.ts";

/** Runs one command line and resolves to its exit code; never rejects. */
export async function main(args: readonly string[]): Promise<number> {
  watchOutput();
  let code: number = EXIT.ok;
  const json = args.includes("--json");
  const program = buildProgram((verb) => {
    return async (...given: unknown[]) => {
      const command = given.at(-1) as Command;
      code = await verb(command.args, command.optsWithGlobals());
    };
  });
  const halfSaid: Command[] = [];
  for (const verb of allVerbs(program))
    verb.configureOutput({
      outputError: describeUsage(verb, json),
      // What the parser itself writes there is help, on a verb that wants another one after it.
      ...(json ? { writeErr: () => void halfSaid.push(verb) } : {}),
    });
  try {
    await program.parseAsync(withVerb(withMemory(program, withHelp(program, args))), { from: "user" });
    return code;
  } catch (error) {
    const thrown = toError(error);
    const [half] = halfSaid;
    if (half) describeUsage(half, json)(`missing verb after '${half.name()}'`);
    if (isCommanderError(thrown)) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(thrown, json, program.opts<{ home?: string }>().home);
  }
}

/** Without a verb it depends on what there is. */
function withVerb(args: readonly string[]): string[] {
  const isVerb = (arg: string, at: number): boolean => !arg.startsWith("-") && args[at - 1] !== "--home";
  const asksAboutGoald = args.some((arg) => ["-h", "--help", "-V", "--version"].includes(arg));
  return args.some(isVerb) || asksAboutGoald ? [...args] : ["plain", ...args];
}

function buildProgram(bind: Bind): Command {
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
    .configureHelp(HELP_STYLE)
    .addHelpText("before", ROOT_EXAMPLES);

  program
    .command("start", { hidden: true })
    .description("on a terminal: set up an agent and run it; without one: the demo")
    .action(bind(async (_args, options) => (await import("#cli/verbs/start.ts")).start(options)));
  program
    .command("plain", { hidden: true })
    .action(bind(async (_args, options) => (await import("#cli/verbs/start.ts")).plain(options)));

  addRunVerbs(program, bind);
  addSteeringVerbs(program, bind);
  addReadingVerbs(program, bind);
  addMemoryVerbs(program, bind);
  addDaemonVerbs(program, bind);
  addHomeVerbs(program, bind);

  program
    .command("demo")
    .description("a recorded agent at work: no key and no network needed")
    .option("--record <file>", "write all that came from outside into a file, for goald replay")
    .addHelpText("before", "Examples:\n  goald demo\n  goald demo --json\n  goald demo --record demo.ndjson\n")
    .action(bind(async (_args, options) => (await import("#cli/verbs/demo.ts")).demoVerb(options)));
  explainVerbs(program);
  return program;
}

/** What the parser says about a call that it does not understand, in the form of all errors. */
const describeUsage =
  (verb: Command, json: boolean) =>
  (text: string): void => {
    const [message = "", ...more] = clean(text)
      .replace(/^error: /, "")
      .trim()
      .split("\n");
    const suggestion = more.join(" ").replace(/^\((.*)\)$/, "$1");
    process.stderr.write(describeError("GOALD_USAGE", message, adviceOn(verb, message, suggestion), json));
  };

const isCommanderError = (error: Error): error is CommanderError =>
  "code" in error && String(error.code).startsWith("commander.");

function reportError(error: Error, json: boolean, home: string | undefined): number {
  const known = isGoaldError(error) ? error : unexpected(error);
  const { code, message, hint } = known;
  process.stderr.write(describeError(code, clean(message), clean(callsFor(home, hint)), json));
  if (code === "GOALD_INTERNAL" && process.env.GOALD_DEBUG) console.error(error.stack);
  return known.exitCode;
}

const unexpected = (error: Error): GoaldError =>
  new GoaldError("GOALD_INTERNAL", error.message, {
    hint: "goald did not expect that. Where it comes from: the same call with GOALD_DEBUG=1 before it",
    cause: error,
  });

function describeError(code: ErrorCode, message: string, hint: string, json: boolean): string {
  if (json) return `${JSON.stringify({ error: { code, message, hint } })}\n`;
  return `goald: ${message}\n${hint ? `  ${hint.replaceAll("\n", "\n  ")}\n` : ""}`;
}

/** `goald events foo | head` ends quietly when head has seen enough; a full disk behind `> file` does not. */
function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A run finishes its step and stops; a verb that only looks has been read far enough.
    // EIO: of a terminal that is gone.
    if (error.code === "EPIPE" || (error.code === "EIO" && process.stdout.isTTY)) {
      // Not SIGPIPE: who listens to that is told of every socket that a client leaves, too.
      if (!process.stdout.emit("unread")) process.exit(EXIT.ok);
      return;
    }
    console.error(`goald: Standard output could not be written: ${error.message}.`);
    process.exit(EXIT.error);
  });
  // Output that nobody hears any more stops nothing.
  process.stderr.on("error", () => {});
}
