/**
 * cli.ts -- the command line: parses, calls one function per verb, prints what it throws.
 *
 * Data goes to standard output, talk about trouble to standard error. Every verb takes --json;
 * the exit codes are those of core/errors.ts. The verbs are loaded when they are called.
 */
import { Command, type CommanderError } from "commander";
import { type ErrorCode, EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import type { Bind } from "./cli/bind.ts";
import { addDaemonVerbs } from "./cli/daemon-verbs.ts";
import { addHomeVerbs } from "./cli/home-verbs.ts";
import { addReadingVerbs } from "./cli/reading-verbs.ts";
import { addRunVerbs } from "./cli/run-verbs.ts";
import { addSteeringVerbs } from "./cli/steering-verbs.ts";
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

  addRunVerbs(program, bind);
  addSteeringVerbs(program, bind);
  addReadingVerbs(program, bind);
  addDaemonVerbs(program, bind);
  addHomeVerbs(program, bind);

  program
    .command("demo")
    .description("a recorded agent at work: no key and no network needed")
    .action(bind(async (_args, options) => (await import("./verbs/demo.ts")).demoVerb(options)));
  return program;
}

const isCommanderError = (error: Error): error is CommanderError =>
  "code" in error && String(error.code).startsWith("commander.");

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
