/**
 * cli.ts -- the command line: parses the call, loads and runs its verb, prints what it throws.
 *
 * Data goes to standard output, everything else about a call to standard error. The exit codes are those of core/errors.ts.
 */
import type { Command, CommanderError } from "commander";
import { printNote } from "#cli/terminal/print.ts";
import { callsFor } from "#cli/verb-list.ts";
import { type ErrorCode, EXIT, GoaldError, isGoaldError, machineAdvice, toError } from "#core/errors.ts";
import { clean, inertJson } from "#util/outside-text.ts";
import { allVerbs, asksForFirstVerbs, buildParser, type Call, hintFor, rewriteArgs, verbsIn } from "./cli/parser.ts";
import { loadVerbs } from "./cli/registry.ts";

/** Runs one command line and resolves to its exit code; never rejects. */
export async function main(given: readonly string[]): Promise<number> {
  watchOutput();
  let code: number = EXIT.ok;
  const json = given.includes("--json");
  const args = rewriteArgs(given);
  const call: Call = async (verb, words, options) => {
    const run = async (given: readonly string[]) => (await verb.run?.(given, options, loadVerbs)) ?? EXIT.ok;
    try {
      code = await run(words);
    } catch (error) {
      const isUnknown = isGoaldError(error, "GOALD_NOT_FOUND");
      const at = isUnknown ? words.findIndex((word) => error.message.endsWith(noneCalled(word))) : -1;
      if (!isUnknown || at < 0) throw error;
      // An unknown agent is an error before anything is done.
      const { findByPrefix } = await import("#cli/agents.ts");
      code = await run(words.with(at, await findByPrefix(words[at] ?? "", options, error)));
    }
  };
  const program = buildParser(await loadVerbs(verbsIn(args)), call, asksForFirstVerbs(args));
  const halfSaid: Command[] = [];
  for (const verb of allVerbs(program))
    verb.configureOutput({
      outputError: describeUsage(verb, json),
      // The parser writes only the help of an incomplete verb there: `goald memory`.
      ...(json ? { writeErr: () => void halfSaid.push(verb) } : {}),
    });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    const thrown = toError(error);
    const [half] = halfSaid;
    if (half) describeUsage(half, json)(`missing verb after '${half.name()}'`);
    if (isCommanderError(thrown)) return thrown.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportError(thrown, json, program.opts<{ home?: string }>().home);
  }
}

/** The end of the message about a name that no agent has. */
const noneCalled = (name: string): string => `found none called ${JSON.stringify(name)}.`;

/** Prints an error of the parser in the form of all errors. */
const describeUsage =
  (verb: Command, json: boolean) =>
  (text: string): void => {
    const [message = "", ...more] = clean(text)
      .replace(/^error: /, "")
      .trim()
      .split("\n");
    const suggestion = more.join(" ").replace(/^\((.*)\)$/, "$1");
    printNote(describeError("GOALD_USAGE", message, hintFor(verb, message, suggestion), json));
  };

const isCommanderError = (error: Error): error is CommanderError =>
  "code" in error && String(error.code).startsWith("commander.");

function reportError(error: Error, json: boolean, home: string | undefined): number {
  const known = isGoaldError(error) ? error : unexpected(error);
  const { code, message, hint } = known;
  printNote(describeError(code, clean(message), clean(callsFor(home, hint)), json));
  if (code === "GOALD_INTERNAL" && process.env.GOALD_DEBUG) printNote(error.stack ?? "");
  return known.exitCode;
}

const unexpected = (error: Error): GoaldError =>
  new GoaldError("GOALD_INTERNAL", error.message, {
    hint: machineAdvice(error) ?? "Unexpected error. Run again with GOALD_DEBUG=1 to see the stack trace.",
    cause: error,
  });

function describeError(code: ErrorCode, message: string, hint: string, json: boolean): string {
  if (json) return inertJson(JSON.stringify({ error: { code, message, hint } }));
  return `goald: ${message}${hint ? `\n  ${hint.replaceAll("\n", "\n  ")}` : ""}`;
}

/** `goald events foo | head` ends quietly when head has seen enough; a full disk behind `> file` does not. */
function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // EIO: the terminal is gone. A run then finishes its step; a verb that only prints has nothing left to do.
    if (error.code === "EPIPE" || (error.code === "EIO" && process.stdout.isTTY)) {
      // Not SIGPIPE: that signal also comes for each socket that a client closes.
      if (!process.stdout.emit("unread")) process.exit(EXIT.ok);
      return;
    }
    printNote(`goald: Standard output could not be written: ${error.message}.`);
    process.exit(EXIT.error);
  });
  // Errors of standard error cannot be reported anywhere.
  process.stderr.on("error", () => {});
}
