/**
 * read.ts -- a model's reply, read as thoughts and one command, or as problems in words.
 *
 *   size cap ─▶ unwrap ─▶ objects outside the reasoning ─▶ parse or repair each ─▶ one shape
 *            ─▶ names and arguments ─▶ schema ─▶ one command, or what to send instead
 *
 * The rule above all others: better to ask again than to run what was not meant. Two
 * different commands are refused, never resolved by position (text that the reply quotes
 * could be either). What was cut off runs only if the command had ended before the cut.
 * After a repair that had to guess, a command that changes things runs only if its own
 * piece of the reply could be read without guessing, where not guessing means: spelling may
 * be mended (raw newlines, stray backslashes, single quotes, trailing commas, quotes inside
 * text that come in pairs), content may not. Read-only commands may run after any repair whose
 * arguments hold no debris of the JSON: the worst is a wrong search. Beside a command that is broken no other one changes
 * anything: it may be a piece of the broken one. Pure, synchronous, and linear but for the capped repair.
 */
import type { CommandCall } from "#core/call.ts";
import { clearCalls, isDamaged, isSameCall, looksMisread } from "./doubts.ts";
import { conflictingKey } from "./duplicates.ts";
import { type Piece, splitReply } from "./extract-json.ts";
import * as problem from "./problems.ts";
import { dropReasoning, endOfLeadingReasoning } from "./reasoning.ts";
import { newRepairBudget, type ParsedObject, parseObject, type RepairBudget, type Unparsed } from "./repair.ts";
import { shapeOf } from "./shape.ts";
import { isCallClosed } from "./spans.ts";
import { NO_THOUGHTS, type Thoughts, thoughtsOf } from "./thoughts.ts";
import { unwrapReply } from "./unwrap.ts";
import { type Catalogue, createValidator, type Validator } from "./validate.ts";

export type { Catalogue, Thoughts };

export type ParsedReply =
  | {
      readonly kind: "command";
      readonly call: CommandCall;
      readonly thoughts: Thoughts;
      /** The JSON had to be mended before it could be read. */
      readonly repaired: boolean;
    }
  | {
      readonly kind: "problem";
      /** One to five sentences for the model: what was wrong, what to send instead. */
      readonly problems: readonly string[];
      readonly thoughts: Thoughts | null;
    };

/** Characters, counted after white space at both ends is gone. */
const MAX_REPLY_CHARS = 2_000_000;
const MAX_PROBLEMS = 5;
/** How often the search starts again behind an object whose brackets misled it. */
const MAX_RESTARTS = 10;
/** The server says that the model ended by itself; anything else may be a cut. */
const SETTLED: ReadonlySet<string> = new Set([
  "stop",
  "end_turn",
  "stop_sequence",
  "eos",
  "tool_calls",
  "function_call",
]);

/** A string and its object end where none is open: what seemed to be the end of the object was content. */
const REST_OF_OBJECT = /^[^{[]{0,200}?"\s{0,20}[}\]]/;

/** What has been found in one reply so far. */
interface Search {
  readonly reply: string;
  readonly isSettled: boolean;
  /** The server says that the reply took all the room it had. */
  readonly isFull: boolean;
  readonly budget: RepairBudget;
  readonly found: { readonly call: CommandCall; readonly repaired: boolean; readonly hasSideEffect: boolean }[];
  /** Calls that an object which could not be read says clearly. */
  readonly doubts: CommandCall[];
  readonly problems: string[];
  thoughts: Thoughts | null;
  hasSeveral: boolean;
  hasCutCommand: boolean;
  /** See `spoil`. */
  hasBrokenCommand: boolean;
}

export function createReplyReader(catalogue: Catalogue): (text: string, finishReason: string) => ParsedReply {
  const validator = createValidator(catalogue);
  return (text, finishReason) => {
    const reply = unwrapReply(text, MAX_REPLY_CHARS);
    if (reply === "") return refuse(null, problem.empty());
    if (reply.length > MAX_REPLY_CHARS) return refuse(null, problem.tooLarge(reply.length, MAX_REPLY_CHARS));
    const search: Search = {
      reply,
      isSettled: SETTLED.has(finishReason),
      isFull: finishReason === "length",
      budget: newRepairBudget(),
      found: [],
      doubts: [],
      problems: [],
      thoughts: null,
      hasSeveral: false,
      hasCutCommand: false,
      hasBrokenCommand: false,
    };
    const reader = { catalogue, validator };
    return searchFrom(search, endOfLeadingReasoning(reply), reader) ?? searchAgain(search, reader) ?? conclude(search);
  };
}

interface Reader {
  readonly catalogue: Catalogue;
  readonly validator: Validator;
}

/** Reads all objects from `from` on; a problem is returned only when it ends the search. */
function searchFrom(search: Search, from: number, reader: Reader): ParsedReply | null {
  let start = from;
  for (let restarts = 0; restarts < MAX_RESTARTS && start < search.reply.length; restarts++) {
    const { pieces, fault } = splitReply(search.reply, start);
    if (fault === "too-deep") return refuse(search.thoughts, problem.tooDeep());
    if (fault === "too-many") return refuse(search.thoughts, problem.tooManyObjects());
    const { objects, unclosed } = dropReasoning(search.reply, pieces);
    if (unclosed && objects.length === 0) return refuse(null, problem.onlyReasoning());
    start = search.reply.length;
    for (const object of objects) {
      const end = readObject(search, object, reader);
      if (!object.closed) start = end;
    }
  }
  return null;
}

/** Braces in prose may have swallowed the reply: once more, from where a reply of the right form begins. */
function searchAgain(search: Search, reader: Reader): ParsedReply | null {
  if (search.found.length > 0 || search.hasSeveral) return null;
  const begin = search.reply.search(/\{\s{0,50}["']?(?:thoughts|command)["']?\s{0,50}:/i);
  const isProse = begin > 0 && !/["'”’]\s{0,50}:/.test(search.reply.slice(0, begin));
  if (!isProse) return null;
  search.hasCutCommand = false;
  search.hasBrokenCommand = false;
  search.doubts.length = 0;
  return searchFrom(search, begin, reader);
}

/** Returns the first index behind the object. */
function readObject(search: Search, { start, end }: Piece, reader: Reader): number {
  const source = search.reply.slice(start, end);
  const parsed = parseObject(source, search.budget);
  if (parsed.kind === "unparsed") {
    noteUnread(search, source, parsed, reader.validator);
    return end;
  }
  search.thoughts ??= thoughtsOf(parsed.value);
  readCommand(search, source, parsed, reader);
  const behind = start + parsed.length;
  if (REST_OF_OBJECT.test(search.reply.slice(behind, behind + 240))) spoil(search, problem.brokenSyntax());
  return behind;
}

/** A piece of it may look like a whole reply: what it says itself counts against that. */
function noteUnread(search: Search, source: string, unread: Unparsed, validator: Validator): void {
  search.problems.push(problemOf(unread));
  if (unread.reason === "cut" && /command/i.test(source)) search.hasCutCommand = true;
  if (unread.reason === "syntax" && /["']command["']\s{0,50}:/i.test(source)) search.hasBrokenCommand = true;
  if (unread.reason === "syntax" || unread.reason === "cut") search.doubts.push(...clearCalls(source, validator).calls);
}

function problemOf({ reason }: Unparsed): string {
  switch (reason) {
    case "too-large":
      return problem.tooDamaged();
    case "too-deep":
      return problem.tooDeep();
    case "cut":
      return problem.cutOff();
    case "ellipsis":
      return problem.ellipsis();
    case "syntax":
      return problem.brokenSyntax();
  }
}

function readCommand(search: Search, source: string, parsed: ParsedObject, { catalogue, validator }: Reader): void {
  const repeated = conflictingKey(parsed.json, parsed.value);
  if (repeated !== null) {
    spoil(search, problem.keyTwice(repeated));
    return;
  }
  const shape = shapeOf(parsed.value, validator.isName);
  if (shape.kind === "several") search.hasSeveral = true;
  if (shape.kind !== "call") return;
  const checked = validator.check(shape.call, source);
  const hasSideEffect = checked.kind === "valid" && catalogue.hasSideEffect(checked.call.name);
  if (!isComplete(search, parsed, hasSideEffect)) {
    search.hasCutCommand = true;
    search.problems.unshift(problem.cutOff());
  } else if (checked.kind === "invalid" && checked.isTemplate) search.problems.push(...checked.problems);
  else if (checked.kind === "invalid") spoil(search, ...checked.problems);
  else if (source.includes("\ufffd") && isDamaged(checked.call))
    spoil(search, problem.damagedLetters(checked.call.name));
  else if (parsed.trust === "guessed") vouch(search, source, checked.call, hasSideEffect, validator);
  else search.found.push({ call: checked.call, repaired: parsed.trust !== "strict", hasSideEffect });
}

/** A command was meant that cannot be run so: what else looks like one may be a piece of it. */
function spoil(search: Search, ...problems: readonly string[]): void {
  search.problems.push(...problems);
  search.hasBrokenCommand = true;
}

/** Nothing of the command was lost at the reply's end. */
function isComplete(search: Search, { ending, written }: ParsedObject, hasSideEffect: boolean): boolean {
  if (ending === "whole" || isCallClosed(written)) return true;
  return ending !== "cut" && search.isSettled && !hasSideEffect;
}

/** A guessed command against what its own piece of the reply says without a guess. */
function vouch(search: Search, source: string, call: CommandCall, hasSideEffect: boolean, validator: Validator): void {
  const { calls, isFirstClear } = clearCalls(source, validator);
  if (calls.some((other) => !isSameCall(other, call))) search.hasSeveral = true;
  else if (hasSideEffect ? calls.length === 0 || !isFirstClear : calls.length === 0 && looksMisread(call))
    spoil(search, problem.damagedCommand(call.name));
  else search.found.push({ call, repaired: true, hasSideEffect });
}

function conclude(search: Search): ParsedReply {
  const { found, thoughts, problems } = search;
  const [first, ...others] = found;
  const all = [...others.map(({ call }) => call), ...search.doubts];
  if (search.hasSeveral || (first && all.some((call) => !isSameCall(call, first.call))))
    return refuse(thoughts, problem.severalCommands());
  if (first?.hasSideEffect && search.hasBrokenCommand) return refuse(thoughts, ...problems);
  if (first && search.hasCutCommand) return refuse(thoughts, problem.cutOff());
  if (first)
    return {
      kind: "command",
      call: first.call,
      thoughts: thoughts ?? NO_THOUGHTS,
      repaired: found.every(({ repaired }) => repaired),
    };
  if (problems.length > 0) return refuse(thoughts, ...problems);
  // Told that a command is missing, the model would write as much before it again.
  if (search.isFull) return refuse(thoughts, problem.cutOff());
  return refuse(thoughts, thoughts || search.reply.includes("{") ? problem.noCommand() : problem.noObject());
}

const refuse = (thoughts: Thoughts | null, ...problems: readonly string[]): ParsedReply => ({
  kind: "problem",
  problems: [...new Set(problems)].slice(0, MAX_PROBLEMS),
  thoughts,
});
