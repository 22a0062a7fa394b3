/**
 * problems.ts -- sentences that tell the model what was wrong with its reply. Each sentence names the fault, then the
 * remedy. It quotes at most a short piece of the reply, on one line: the reply may contain text from outside, and a
 * long echo teaches the model its own mistake.
 */
import type { ErrorObject } from "ajv";
import { type ArgsSchema, decodePointer, MAX_JSON_DEPTH } from "#core/command.ts";
import { oneLine, wellFormed } from "#core/text.ts";
import { rankNearestNames } from "./arrange-args.ts";

export const MAX_PROBLEMS = 5;
const MAX_QUOTED_CHARS = 60;
/** Names in one problem. */
const MAX_LISTED = 40;
const ONE_OBJECT = "Send exactly one JSON object with the keys thoughts and command, and nothing around it.";

/** Problems with a fixed text. */
export const PROBLEMS = {
  empty: `The reply was empty. ${ONE_OBJECT}`,
  noObject: `The reply holds no JSON object. ${ONE_OBJECT}`,
  noCommand: 'The reply holds JSON but no command. Put {"name": …, "args": {…}} under the key command.',
  onlyReasoning: `The reply holds no answer outside the reasoning block or a call in another form. ${ONE_OBJECT}`,
  tooDeep: `The JSON is nested too deeply: at most ${MAX_JSON_DEPTH} levels of brackets are read. ${ONE_OBJECT}`,
  tooManyObjects: `The reply holds too many JSON objects to tell which one is meant. ${ONE_OBJECT}`,
  tooDamaged:
    "The JSON is broken and too large to repair. Escape quotes, newlines and backslashes inside strings, and keep the reply shorter.",
  brokenSyntax:
    "The JSON is broken and could not be repaired with certainty. Use double quotes, and escape quotes, newlines and backslashes inside strings.",
  ellipsis: "Three dots stand where a value belongs. Write every value out in full.",
  cutOff:
    "The reply was cut off before the command was complete, so nothing was run. Keep the thoughts short, and write long text in several steps.",
  severalCommands:
    "The reply holds more than one command, or quotes one. Send one command and nothing around it; the next one can follow after its result.",
  noName: "The command has no name. Put the name of one command from the list under command.name.",
} as const;

const REACT_SHAPE = "Send one thought and one ACTION with a block of Python.";
const CODE_SHAPE = "Send one block of code, or a line RESULT: and your answer below it.";
const ONLY_REASONING = "The reply ended before the reasoning block did.";
const CUT_CODE = "The reply was cut off before its code was complete, so nothing was run. Write less in one reply.";

/** Problems with a reply in prose. */
export const ACTION_PROBLEMS = {
  react: {
    onlyReasoning: `${ONLY_REASONING} ${REACT_SHAPE}`,
    cutOff: CUT_CODE,
    noCode: `The reply has no action. ${REACT_SHAPE} When the task is done, the action is stop().`,
    emptyCode: `The action is empty. ${REACT_SHAPE}`,
  },
  code: {
    onlyReasoning: `${ONLY_REASONING} ${CODE_SHAPE}`,
    cutOff: CUT_CODE,
    noCode: `The reply was empty. ${CODE_SHAPE}`,
    noBlock: `The reply writes, quotes or announces a call without a block of Python of its own, so nothing was run. ${CODE_SHAPE}`,
    emptyCode: `The block of code is empty. ${CODE_SHAPE}`,
  },
} as const;

export const describeForeignCode = (name: string): string =>
  `A block in ${quoteText(name)} cannot run: only Python runs here, and there is no shell. Write Python, or use the functions that you have. If the block is a part of your answer, send a line RESULT: and the answer below it.`;

const CALL_ALONE = "Call one tool; the next one can follow after its result.";
/** In place of the words of a problem. */
const REPHRASED: Readonly<Record<"tools" | "plan", readonly (readonly [string, string])[]>> = {
  tools: [
    [ONE_OBJECT, "Call one tool."],
    [PROBLEMS.severalCommands, `The reply's calls could not be told apart. ${CALL_ALONE}`],
    [PROBLEMS.noCommand, "The reply holds no tool call. Call one tool."],
  ],
  plan: [
    [ONE_OBJECT, "Send exactly one JSON object with the keys action and args, and nothing around it."],
    [PROBLEMS.severalCommands, "The reply holds several actions, or quotes one. Send one; the next one can follow."],
    [PROBLEMS.noCommand, 'The reply holds JSON but no action. Send {"action": …, "args": {…}}.'],
    [PROBLEMS.noName, "The action has no name. Put the name of one action from the list under the key action."],
  ],
};

/** Asks for a tool call, or for an action, where a problem asks for a command in JSON. */
export const rephraseProblems = (problems: readonly string[], form: "tools" | "plan"): readonly string[] =>
  problems.map((problem) => REPHRASED[form].reduce((text, [before, after]) => text.replace(before, after), problem));

export const describeTooManyCalls = (count: number, most: number): string =>
  `The reply calls ${count} tools, and at most ${most} calls that only read may be in one reply. Send fewer; the others can follow.`;
/** `names`: the commands that may not be called beside another one. */
export function describeLonelyCall(names: readonly string[], most: number): string {
  const shown = [...new Set(names)].join(", ");
  return `Several calls in one reply (at most ${most}) are run only when all of them only read, so nothing was run. Call alone: ${shown}.`;
}
/** `reasoningTokens`: part of the tokens; undefined when unknown. */
export function describeCutReasoning(outputTokens: number, reasoningTokens: number | undefined): string {
  const spent = `${outputTokens} tokens${reasoningTokens === undefined ? "" : `, ${reasoningTokens} of them reasoning,`}`;
  return `The reply was cut off after ${spent} before an answer began, so nothing was run. Reason less.`;
}
export const describeTooLarge = (chars: number, maxChars: number): string =>
  `The reply has ${chars} characters, and at most ${maxChars} are read. Send a shorter one; write long text to files in several steps.`;
export const describeDamagedCommand = (name: string): string =>
  `The JSON was broken at the command itself, and what ${name} was to do could only be guessed. Send it again with every quote and backslash inside strings escaped.`;
/** `name`: the command of the args; absent for code. */
export const describeDamagedLetters = (name?: string): string =>
  `A letter ${name ? `in the args of ${name}` : "of the code"} arrived damaged (U+FFFD or half a surrogate pair), so nothing was run. Send it again, with other letters or as \\u escapes.`;
export const describeRepeatedKey = (key: string): string =>
  `The key ${quoteText(key)} is given twice with different values. Give every key once.`;

/** Names by which models ask for a shell. */
const SHELL = /shell|bash|terminal|popen|subprocess|^(?:cmd|sh)$/i;
export function describeUnknownCommand(written: string, names: ReadonlySet<string>): string {
  if (/^<?command[ _]name>?$/i.test(written.trim()))
    return "The response format was copied with its placeholders. Fill in a command from the list and its arguments.";
  const nearest = rankNearestNames(written, names, 5).join(", ");
  const instead = names.has("run_code") ? "; run_code runs Python" : "";
  const shell = SHELL.test(written) ? ` No command reaches a shell${instead}.` : "";
  return `There is no command ${quoteText(written)}.${shell} The nearest names are: ${nearest}.`;
}
export const describeUnknownAction = (written: string, names: readonly string[]): string =>
  `There is no action ${quoteText(written)}. The actions are: ${names.slice(0, MAX_LISTED).join(", ")}.`;
export const describeClosedCommand = (name: string, names: ReadonlySet<string>): string =>
  `You may not use ${name} here. Your commands are: ${[...names].slice(0, MAX_LISTED).join(", ")}.`;
export const describeArgsNotAnObject = (name: string, schema: ArgsSchema): string =>
  `The args of ${name} must be a JSON object by argument name, whose strings have quotes, newlines and backslashes escaped. ${describeArgs(name, schema)}`;
export const describeRepeatedArgument = (name: string, argument: string): string =>
  `The argument ${quoteText(argument)} of ${name} is given twice, under two names, with different values. Give it once.`;
export const describePlaceholder = (name: string, argument: string, value: string): string =>
  `The argument ${quoteText(argument)} of ${name} is still the placeholder ${quoteText(value)}. Fill in the real value.`;
export const describeUnknownArguments = (name: string, count: number, schema: ArgsSchema): string =>
  `The command ${name} was given ${count} arguments that it does not have. ${describeArgs(name, schema)}`;

/** `nameOf` names the wrong part by its path, such as "points.0.x"; the path of the whole value is empty. */
export function describeSchemaError(error: ErrorObject, nameOf: (path: string) => string): string {
  const { keyword, params, message = "is not valid" } = error;
  const allowed = keyword === "enum" ? `: ${oneLine(JSON.stringify(params.allowedValues), 200)}` : "";
  const unknown = keyword === "additionalProperties" ? `: ${quoteText(params.additionalProperty)}` : "";
  return `${nameOf(pathOf(error))} ${oneLine(message, 160)}${allowed}${unknown}.`;
}

export function describeArgumentError(name: string, error: ErrorObject, schema: ArgsSchema): string {
  const path = pathOf(error);
  const inside = path === "" ? "" : ` of ${quoteText(path)}`;
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case "required":
      return `The command ${name} needs the argument ${quoteText(String(params.missingProperty))}${inside}. ${describeArgs(name, schema)}`;
    case "additionalProperties":
      return `The command ${name} has no argument ${quoteText(String(params.additionalProperty))}${inside}. ${describeArgs(name, schema)}`;
    case "enum":
      return `The argument ${quoteText(path)} of ${name} must be one of: ${oneLine(String(params.allowedValues), 200)}.`;
    default:
      return describeSchemaError(error, () => `The argument ${quoteText(path)} of ${name}`);
  }
}

const pathOf = ({ instancePath }: ErrorObject): string => instancePath.split("/").slice(1).map(decodePointer).join(".");

function describeArgs(name: string, schema: ArgsSchema): string {
  const names = Object.keys(schema.properties);
  return names.length === 0 ? `${name} takes no arguments.` : `${name} takes: ${names.join(", ")}.`;
}

/** Returns one short line without control characters or quotes. */
export const quoteText = (text: string): string =>
  `"${wellFormed(oneLine(text, MAX_QUOTED_CHARS)).replace(/[\p{C}"]/gu, " ")}"`;
