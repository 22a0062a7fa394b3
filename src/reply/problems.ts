/**
 * problems.ts -- what was wrong with a reply, in sentences for the model.
 *
 * Each says what came, then what to send instead. At most a short piece of the reply is
 * quoted, on one line: the reply may hold text from outside, and a long echo teaches the
 * model its own mistake.
 */
import type { ErrorObject } from "ajv";
import type { ArgsSchema } from "#core/command.ts";
import { oneLine, wellFormed } from "#core/text.ts";
import { rankNearestNames } from "./aliases.ts";

const MAX_QUOTED_CHARS = 60;
const ONE_OBJECT = "Send exactly one JSON object with the keys thoughts and command, and nothing around it.";

export const empty = (): string => `The reply was empty. ${ONE_OBJECT}`;
export const tooLarge = (chars: number, maxChars: number): string =>
  `The reply has ${chars} characters, and at most ${maxChars} are read. Send a shorter one; write long text to files in several steps.`;
export const noObject = (): string => `The reply holds no JSON object. ${ONE_OBJECT}`;
export const noCommand = (): string =>
  'The reply holds JSON but no command. Put {"name": …, "args": {…}} under the key command.';
export const onlyReasoning = (): string =>
  `The reply ended before the reasoning block did, so it holds no answer. ${ONE_OBJECT}`;
export const tooDeep = (): string => `The JSON is nested too deeply. ${ONE_OBJECT}`;
export const tooManyObjects = (): string =>
  `The reply holds too many JSON objects to tell which one is meant. ${ONE_OBJECT}`;
export const tooDamaged = (): string =>
  "The JSON is broken and too large to repair. Escape quotes, newlines and backslashes inside strings, and keep the reply shorter.";
export const brokenSyntax = (): string =>
  "The JSON is broken and could not be repaired with certainty. Use double quotes, and escape quotes, newlines and backslashes inside strings.";
export const ellipsis = (): string => "Three dots stand where a value belongs. Write every value out in full.";
export const cutOff = (): string =>
  "The reply was cut off before the command was complete, so nothing was run. Keep the thoughts short, and write long text in several steps.";
export const damagedCommand = (name: string): string =>
  `The JSON was broken at the command itself, and what ${name} was to do could only be guessed. Send it again with every quote and backslash inside strings escaped.`;
export const damagedLetters = (name: string): string =>
  `A letter in the args of ${name} arrived damaged (as U+FFFD), so nothing was run. Send it again, with other letters or as \\u escapes.`;
export const severalCommands = (): string =>
  "The reply holds more than one command, and they differ. Send one command; the next one can follow after its result.";
export const keyTwice = (key: string): string =>
  `The key ${quoted(key)} is given twice with different values. Give every key once.`;
export const noName = (): string =>
  "The command has no name. Put the name of one command from the list under command.name.";

export function unknownCommand(written: string, names: ReadonlySet<string>): string {
  if (/^<?command[ _]name>?$/i.test(written.trim()))
    return "The response format was copied with its placeholders. Fill in a command from the list and its arguments.";
  const nearest = rankNearestNames(written, names, 5).join(", ");
  return `There is no command ${quoted(written)}. The nearest names are: ${nearest}.`;
}
export const argumentsNotAnObject = (name: string, schema: ArgsSchema): string =>
  `The args of ${name} must be a JSON object by argument name. ${takes(name, schema)}`;
export const argumentTwice = (name: string, argument: string): string =>
  `The argument ${quoted(argument)} of ${name} is given twice, under two names, with different values. Give it once.`;
export const placeholder = (name: string, argument: string, value: string): string =>
  `The argument ${quoted(argument)} of ${name} is still the placeholder ${quoted(value)}. Fill in the real value.`;
export const manyUnknownArguments = (name: string, count: number, schema: ArgsSchema): string =>
  `The command ${name} was given ${count} arguments that it does not have. ${takes(name, schema)}`;

/** One ajv error as a sentence. */
export function schemaError(name: string, error: ErrorObject, schema: ArgsSchema): string {
  const argument = error.instancePath.split("/")[1] ?? "";
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case "required":
      return `The command ${name} needs the argument ${quoted(String(params.missingProperty))}. ${takes(name, schema)}`;
    case "additionalProperties":
      return `The command ${name} has no argument ${quoted(String(params.additionalProperty))}. ${takes(name, schema)}`;
    case "enum":
      return `The argument ${quoted(argument)} of ${name} must be one of: ${oneLine(String(params.allowedValues), 200)}.`;
    default:
      return `The argument ${quoted(argument)} of ${name} ${oneLine(error.message ?? "is not valid", 160)}.`;
  }
}

function takes(name: string, schema: ArgsSchema): string {
  const names = Object.keys(schema.properties);
  return names.length === 0 ? `${name} takes no arguments.` : `${name} takes: ${names.join(", ")}.`;
}

/** A short piece of the reply on one line, safe to show anywhere. */
const quoted = (text: string): string => `"${wellFormed(oneLine(text, MAX_QUOTED_CHARS)).replace(/[\p{C}"]/gu, " ")}"`;
