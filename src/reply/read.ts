/**
 * read.ts -- reads a model's reply as thoughts and one command, or as problems in words.
 *
 *   size cap ─▶ unwrap ─▶ the whole is one strict object of the requested shape ─▶ names and arguments ─▶ schema
 *            └▶ else objects outside the reasoning ─▶ parse or repair each ─▶ one call ─▶ the same
 *
 * Asking again is better than running a command that was not meant:
 * - A call is a statement of the reply: not the content of another text, and not quoted by the words around it.
 * - Two different commands are rejected, never chosen by position: either may be quoted text.
 * - A truncated reply runs only if its command was closed before the cut.
 * - Of a damaged object, the command runs whose own object is readable with mended spelling (control characters,
 *   backslashes, commas) and unchanged content.
 * - After a guessed repair, a command runs only if it reads and reaches nothing outside, and each of its
 *   texts is in the reply as one string or word.
 * - Beside a broken command no command with side effects runs: it may be a part of the broken one.
 * Pure, synchronous, and linear except for the capped repair.
 */
import type { CommandCall } from "#core/call.ts";
import { asRecord, isRecord } from "#util/json.ts";
import { collectTexts } from "./arrange-args.ts";
import { type CallValidator, createCallValidator, type ReplyCatalogue } from "./check-call.ts";
import { findCall, isArgsKey, NAME_KEYS } from "./find-call.ts";
import { findConflictingKey, findStringEnd, isSameJson, parseShallowJson } from "./json.ts";
import {
  findContent,
  findLeadingReasoningEnd,
  findObjects,
  isQuoted,
  MAX_DAMAGED_CHARS,
  MAX_GUESS_WORK,
  type ParsedObject,
  parseClearly,
  parseObject,
  type ReplyObject,
  type UnparsedObject,
  unwrapReply,
} from "./json-objects.ts";
import {
  describeDamagedCommand,
  describeDamagedLetters,
  describeRepeatedKey,
  describeTooLarge,
  MAX_PROBLEMS,
  PROBLEMS,
} from "./problems.ts";
import { findFilledBlocks } from "./split-action.ts";
import { findThoughts, NO_THOUGHTS, type Thoughts, withThought } from "./thoughts.ts";

/** Maximum new starts after objects whose brackets do not balance. */
const MAX_RESTARTS = 10;
/** Finish reasons of a reply that the model ended itself; others may mean a truncated reply. */
const SETTLED = /^(?:stop|end_turn|stop_sequence|eos|tool_calls|function_call)$/;

/** A string and an object end where none is open: the assumed end of the object was content. */
const REST_OF_OBJECT = /^[^{[]{0,200}?["'”]\s{0,20}[}\]]/;

/** Gives an object of the reply the shape that a command is looked for in. By default it stays as it is. */
type Shape = (value: unknown) => unknown;

export function createReplyReader(
  catalogue: ReplyCatalogue,
  validator: CallValidator = createCallValidator(catalogue),
  shape: Shape = (value) => value,
): (text: string, finishReason: string) => ParsedReply {
  return (text, finishReason) => {
    const reply = unwrapReply(text, MAX_REPLY_CHARS);
    if (reply === "") return refuseReply(null, PROBLEMS.empty);
    if (reply.length > MAX_REPLY_CHARS) return refuseReply(null, describeTooLarge(reply.length, MAX_REPLY_CHARS));
    const asAsked = readAsAsked(reply, validator, shape);
    if (asAsked) return asAsked;
    const search = startSearch(reply, finishReason, catalogue, validator, shape);
    return searchObjects(search, findLeadingReasoningEnd(reply)) ?? searchAgain(search) ?? concludeSearch(search);
  };
}

/**
 * Reads a reply that is nothing but strict JSON of the requested shape with a valid command; undefined for any other. A
 * search finds the same in it: no text around the object can make it a quotation or a draft.
 */
function readAsAsked(reply: string, validator: CallValidator, shape: Shape): ParsedReply | undefined {
  const value = reply.startsWith("{") ? parseShallowJson(reply) : undefined;
  if (value === undefined || findConflictingKey(reply) !== null) return undefined;
  const { command, thoughts: _thoughts, ...others } = asRecord(shape(value));
  const { name, args, ...further } = asRecord(command);
  if (!isRecord(args) || Object.keys({ ...others, ...further }).length > 0) return undefined;
  const checked = validator.checkCall({ name, args }, reply);
  if (checked.kind === "invalid" || isDamaged(checked.call, reply)) return undefined;
  const thoughts = withThought(findThoughts(value), checked.thought) ?? NO_THOUGHTS;
  return { kind: "command", call: checked.call, thoughts, repaired: false };
}

/** Findings in one reply so far. */
type ReplySearch = ReturnType<typeof startSearch>;

function startSearch(
  reply: string,
  finishReason: string,
  catalogue: ReplyCatalogue,
  validator: CallValidator,
  shape: Shape,
) {
  const found: { readonly call: CommandCall; readonly repaired: boolean }[] = [];
  return {
    catalogue,
    validator,
    shape,
    reply,
    /** Parts of other texts, such as files, arguments and comments. Objects there are not calls of the reply. */
    content: [...findContent(reply, !SETTLED.test(finishReason), validator.isName), ...findFilledBlocks(reply)],
    /** True when the server reports that the reply reached its length limit. */
    isFull: finishReason === "length",
    budget: { guessWork: MAX_GUESS_WORK },
    found,
    problems: [] as string[],
    thoughts: null as Thoughts | null,
    unknownName: undefined as string | undefined,
    hasSeveral: false,
    hasCutCommand: false,
    hasBrokenCommand: false,
    /** The command of the last call whose arguments are not valid. */
    badCommand: undefined as string | undefined,
  };
}

/** Reads all objects from `from` on. Returns a problem only if it ends the search. */
function searchObjects(search: ReplySearch, from: number): ParsedReply | null {
  let start = from;
  for (let restarts = 0; restarts < MAX_RESTARTS && start < search.reply.length; restarts++) {
    const { objects, unclosed, fault } = findObjects(search.reply, start);
    if (fault !== null) return refuseReply(search.thoughts, PROBLEMS[fault]);
    if (unclosed && objects.length === 0) return refuseReply(null, PROBLEMS.onlyReasoning);
    start = search.reply.length;
    for (const object of objects) {
      // The reply may name an element, and then write one into a file.
      const isInside = ({ start, end }: Pick<ReplyObject, "start" | "end">): boolean =>
        start <= object.start && (object.closed ? object.end <= end : object.start < end);
      if (search.content.some(isInside)) continue;
      const known = search.found.length;
      const end = readObject(search, object);
      const isCall = search.found.length > known;
      search.hasSeveral ||= isCall && isQuoted(search.reply, object.start, end);
      if (!object.closed) start = end;
    }
  }
  return null;
}

/** Searches again from the first key such as `{"thoughts":`, since braces in prose may enclose the reply. */
function searchAgain(search: ReplySearch): ParsedReply | null {
  if (search.found.length > 0 || search.hasSeveral) return null;
  const begin = search.reply.search(/\{\s{0,50}["']?(?:thoughts|command|action|tool_calls|name)["']?\s{0,50}:/i);
  const isProse = begin > 0 && !/["'”’]\s{0,50}:/.test(search.reply.slice(0, begin));
  if (!isProse) return null;
  search.hasCutCommand = false;
  search.hasBrokenCommand = false;
  return searchObjects(search, begin);
}

/** Returns the exclusive end of the object. */
function readObject(search: ReplySearch, { start, end }: ReplyObject): number {
  const source = search.reply.slice(start, end);
  const parsed = parseObject(source, search.budget);
  if (parsed.kind === "unparsed") {
    if (!acceptOwnCall(search, source)) noteUnparsedObject(search, source, parsed);
    return end;
  }
  search.thoughts ??= findThoughts(parsed.value);
  const behind = start + parsed.length;
  if (REST_OF_OBJECT.test(search.reply.slice(behind, behind + 240))) noteBrokenCommand(search, PROBLEMS.brokenSyntax);
  else readCommand(search, source, parsed);
  return behind;
}

function acceptOwnCall(search: ReplySearch, source: string): boolean {
  const call = readOwnCall(source, search.validator);
  if (!call || isDamaged(call, source)) return false;
  search.found.push({ call, repaired: true });
  return true;
}

function noteUnparsedObject(search: ReplySearch, source: string, unread: UnparsedObject): void {
  search.problems.push(PROBLEMS[unread.reason]);
  search.hasCutCommand ||= unread.reason === "cutOff" && /command|action/i.test(source);
  search.hasBrokenCommand ||= unread.reason === "brokenSyntax" && /["'](?:command|action)["']\s{0,50}:/i.test(source);
}

function readCommand(search: ReplySearch, source: string, parsed: ParsedObject): void {
  const { catalogue, validator } = search;
  if (parsed.trust === "guessed" && acceptOwnCall(search, source)) return;
  const repeated = findConflictingKey(parsed.json);
  if (repeated !== null) {
    noteBrokenCommand(search, describeRepeatedKey(repeated));
    return;
  }
  const shape = findCall(search.shape(parsed.value), validator.isName);
  if (shape.kind === "several") search.hasSeveral = true;
  if (shape.kind !== "call") return;
  const checked = validator.checkCall(shape.call, source);
  if (checked.kind === "valid") search.thoughts = withThought(search.thoughts, checked.thought);
  if (!parsed.isWhole && !isCallClosed(parsed.written)) {
    search.hasCutCommand = true;
    search.problems.unshift(PROBLEMS.cutOff);
  } else if (checked.kind === "invalid" && checked.name === undefined) {
    search.problems.push(...checked.problems);
    search.unknownName ??= checked.unknownName;
  } else if (checked.kind === "invalid") {
    search.badCommand = checked.name;
    noteBrokenCommand(search, ...checked.problems);
  } else if (isDamaged(checked.call, source)) noteBrokenCommand(search, describeDamagedLetters(checked.call.name));
  else if (parsed.trust === "guessed" && isDoubtfulGuess(catalogue, checked.call, source))
    noteBrokenCommand(search, describeDamagedCommand(checked.call.name));
  else search.found.push({ call: checked.call, repaired: parsed.trust !== "strict" });
}

/** A command was meant that cannot run: other commands may be parts of it. */
function noteBrokenCommand(search: ReplySearch, ...problems: readonly string[]): void {
  search.problems.push(...problems);
  search.hasBrokenCommand = true;
}

function concludeSearch(search: ReplySearch): ParsedReply {
  const { found, thoughts, problems } = search;
  const [first, ...others] = found;
  if (search.hasSeveral || (first && others.some(({ call }) => !isSameCall(call, first.call))))
    return refuseReply(thoughts, PROBLEMS.severalCommands);
  if (first && search.hasBrokenCommand && search.catalogue.hasSideEffect(first.call.name))
    return refuseReply(thoughts, ...problems);
  if (first && search.hasCutCommand) return refuseReply(thoughts, PROBLEMS.cutOff);
  if (first)
    return {
      kind: "command",
      call: first.call,
      thoughts: thoughts ?? NO_THOUGHTS,
      repaired: found.every(({ repaired }) => repaired),
    };
  const { badCommand: command, unknownName } = search;
  // Any other problem alone would make the model write an equally long reply again.
  if (search.isFull) problems.unshift(PROBLEMS.cutOff);
  if (problems.length > 0)
    return {
      ...refuseReply(thoughts, ...problems),
      ...(command && { command }),
      ...(unknownName && { unknownName }),
    };
  return refuseReply(thoughts, thoughts || search.reply.includes("{") ? PROBLEMS.noCommand : PROBLEMS.noObject);
}

export type ParsedReply =
  | {
      readonly kind: "command";
      readonly call: CommandCall;
      /** Native tool calls after the first one, in order; absent for none. */
      readonly further?: readonly FurtherCall[];
      readonly thoughts: Thoughts;
      /** True when the JSON was mended. */
      readonly repaired: boolean;
    }
  | {
      readonly kind: "problem";
      /** One to five sentences for the model, each with fault and remedy. */
      readonly problems: readonly string[];
      readonly thoughts: Thoughts | null;
      /** The command that was meant, when only its arguments are at fault. */
      readonly command?: string;
      /** A name that the reply calls and that no command has. */
      readonly unknownName?: string;
    };

/** `thought`: its own argument; empty when it has none. */
export interface FurtherCall {
  readonly call: CommandCall;
  readonly thought: string;
}

/** Counted without blanks at both ends. */
export const MAX_REPLY_CHARS = 2_000_000;

export const refuseReply = (thoughts: Thoughts | null, ...problems: readonly string[]): ParsedReply => ({
  kind: "problem",
  problems: [...new Set(problems)].slice(0, MAX_PROBLEMS),
  thoughts,
});

/** Tells whether two calls are the same. Ignores the order of the arguments. */
export const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSameJson(Object.entries(a.args).sort(), Object.entries(b.args).sort());

const COMMAND_KEY = /["']command["']\s{0,50}:\s{0,50}(?=\{)/gi;
/** True where a key of the reply itself may follow, and not one that a text quotes. */
const isBeforeKey = (text: string): boolean =>
  text.split(/[{[]/).length - text.split(/[}\]]/).length === 1 && !/[\w.:][ \t]*$/.test(text);
/** No quote and no opening bracket follow the command: its end is not a part of a text. */
const LAST = /^[^"'“”{[]*$/;
/** The key that follows the command is thoughts, or is cut off, and no key of another command does. */
const THOUGHTS_ALONE = /^\s*,\s*(?:"?\w*$|"thoughts"(?![\s\S]*"(?:command|tool|function|action|name)\w*"\s{0,50}:))/;

/**
 * Returns the command that a damaged reply still states without a guess: the key `command` occurs once, its object can
 * be read with mended spelling, and only plain words or thoughts that were cut off follow it. A repair of the whole
 * reply may move text from one field to another, so a command with side effects must be readable in its own part.
 * Undefined when there is none, or it is not valid.
 */
function readOwnCall(source: string, validator: CallValidator): CommandCall | undefined {
  if (source.length > MAX_DAMAGED_CHARS) return undefined;
  const [key, ...others] = source.matchAll(COMMAND_KEY).take(2);
  if (!key || others.length > 0 || !isBeforeKey(source.slice(0, key.index))) return undefined;
  const own = source.slice(key.index + key[0].length);
  const parsed = parseClearly(own);
  if (!("kind" in parsed) || !parsed.isWhole || findConflictingKey(parsed.json) !== null) return undefined;
  const rest = own.slice(parsed.length);
  const whole = LAST.test(rest) ? undefined : parseClearly(source);
  if (whole && ("kind" in whole || !whole.isOpen || !THOUGHTS_ALONE.test(rest))) return undefined;
  const shape = findCall({ command: parsed.value }, validator.isName);
  const checked = shape.kind === "call" ? validator.checkCall(shape.call, own) : undefined;
  return checked?.kind === "valid" ? checked.call : undefined;
}

/** True when an argument contains half a surrogate pair, or the source's U+FFFD, which replaced a lost character. */
export const isDamaged = ({ args }: CommandCall, source: string): boolean =>
  collectTexts(args).some((text) => !text.isWellFormed() || (source.includes("\ufffd") && text.includes("\ufffd")));

/** An argument that contains keys of the reply, or is not one whole string or word of it, is a wrong guess. */
const isDoubtfulGuess = (catalogue: ReplyCatalogue, { name, args }: CommandCall, source: string): boolean =>
  !catalogue.isHarmless(name) ||
  collectTexts(args).some((value) => {
    const marked = withoutEscapes(source).replaceAll(withoutEscapes(value), "\0");
    if (/^["'`]|"\s{0,50}(?::|,\s{0,50}"|[}\]]\s{0,50}[,}\]])/.test(value)) return true;
    if (/(["'`])\0\1|“\0”|„\0[“”]/.test(marked)) return false;
    return !(/^[\w ./-]+$/.test(value) && /[:,[]\s*\0\s*[,}\]]/.test(marked));
  });
const withoutEscapes = (text: string): string => JSON.stringify(text).slice(1, -1).replaceAll("\\", "");

/** True when the whole command, or its name and arguments, are closed in the mended text. */
function isCallClosed(written: string): boolean {
  const containers: string[] = [];
  let key = "";
  let text = "";
  let hasName = false;
  for (let at = 0; at < written.length; at++) {
    const char = written[at];
    if (char === '"') {
      const end = findStringEnd(written, at);
      if (end === written.length) return false;
      text = written.slice(at + 1, end).toLowerCase();
      if (NAME_KEYS.includes(key)) hasName = true;
      at = end;
    } else if (char === ":") key = text;
    else if (char === ",") key = "";
    else if (char === "{" || char === "[") {
      containers.push(key);
      key = "";
    } else if (char === "}" || char === "]") {
      const closed = containers.pop();
      if (containers.includes("thoughts") && (closed !== "command" || /[^\s}\]]/.test(written.slice(at)))) continue;
      if (closed === "command" || (hasName && closed !== undefined && isArgsKey(closed))) return true;
    }
  }
  return false;
}
