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
 * arguments hold no debris of the JSON: the worst is a wrong search. Pure, synchronous, and linear but for the capped repair.
 */
import type { CommandCall } from "#core/event.ts";
import { conflictingKey } from "./duplicates.ts";
import { type Piece, splitReply } from "./extract-json.ts";
import { isSame } from "./json.ts";
import * as problem from "./problems.ts";
import { dropReasoning, endOfLeadingReasoning } from "./reasoning.ts";
import { newRepairBudget, type ParsedObject, parseObject, type RepairBudget, type Unparsed } from "./repair.ts";
import { shapeOf } from "./shape.ts";
import { clearSpans, isCallClosed } from "./spans.ts";
import { NO_THOUGHTS, type Thoughts, thoughtsOf } from "./thoughts.ts";
import { unwrapReply } from "./unwrap.ts";
import { type Catalogue, createValidator, type Validator } from "./validate.ts";

export type { Catalogue, Thoughts };

export type Reading =
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

/** What has been found in one reply so far. */
interface Search {
  readonly reply: string;
  readonly isSettled: boolean;
  readonly budget: RepairBudget;
  readonly found: { readonly call: CommandCall; readonly repaired: boolean }[];
  readonly problems: string[];
  thoughts: Thoughts | null;
  hasSeveral: boolean;
  hasCutCommand: boolean;
}

export function createReplyReader(catalogue: Catalogue): (text: string, finishReason: string) => Reading {
  const validator = createValidator(catalogue);
  return (text, finishReason) => {
    const reply = unwrapReply(text, MAX_REPLY_CHARS);
    if (reply === "") return refuse(null, problem.empty());
    if (reply.length > MAX_REPLY_CHARS) return refuse(null, problem.tooLarge(reply.length, MAX_REPLY_CHARS));
    const search: Search = {
      reply,
      isSettled: SETTLED.has(finishReason),
      budget: newRepairBudget(),
      found: [],
      problems: [],
      thoughts: null,
      hasSeveral: false,
      hasCutCommand: false,
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
function searchFrom(search: Search, from: number, reader: Reader): Reading | null {
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
function searchAgain(search: Search, reader: Reader): Reading | null {
  if (search.found.length > 0 || search.hasSeveral) return null;
  const begin = search.reply.search(/\{\s{0,50}["']?(?:thoughts|command)["']?\s{0,50}:/i);
  const isProse = begin > 0 && !/["'”’]\s{0,50}:/.test(search.reply.slice(0, begin));
  if (!isProse) return null;
  search.hasCutCommand = false;
  return searchFrom(search, begin, reader);
}

/** Returns the first index behind the object. */
function readObject(search: Search, { start, end }: Piece, reader: Reader): number {
  const source = search.reply.slice(start, end);
  const parsed = parseObject(source, search.budget);
  if (parsed.kind === "unparsed") {
    if (parsed.reason === "cut" && /command/i.test(source)) search.hasCutCommand = true;
    search.problems.push(problemOf(parsed));
    return end;
  }
  search.thoughts ??= thoughtsOf(parsed.value);
  readCommand(search, source, parsed, reader);
  return start + parsed.length;
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
    search.problems.push(problem.keyTwice(repeated));
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
  } else if (checked.kind === "invalid") search.problems.push(...checked.problems);
  else if (source.includes("\ufffd") && isDamaged(checked.call))
    search.problems.push(problem.damagedLetters(checked.call.name));
  else if (parsed.trust === "guessed") vouch(search, source, checked.call, hasSideEffect, validator);
  else search.found.push({ call: checked.call, repaired: parsed.trust !== "strict" });
}

/** Bytes that are no text came in the place of a letter: what stood there is lost. */
const isDamaged = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some((value) => typeof value === "string" && value.includes("\ufffd"));

/** Nothing of the command was lost at the reply's end. */
function isComplete(search: Search, { ending, written }: ParsedObject, hasSideEffect: boolean): boolean {
  if (ending === "whole" || isCallClosed(written)) return true;
  return ending !== "cut" && search.isSettled && !hasSideEffect;
}

/** A guessed command against what its own piece of the reply says without a guess. */
function vouch(search: Search, source: string, call: CommandCall, hasSideEffect: boolean, validator: Validator): void {
  const calls = clearSpans(source).flatMap((value) => {
    const shape = shapeOf({ command: value }, validator.isName);
    const checked = shape.kind === "call" ? validator.check(shape.call, source) : null;
    return checked?.kind === "valid" ? [checked.call] : [];
  });
  if (calls.some((other) => !isSameCall(other, call))) search.hasSeveral = true;
  else if (calls.length === 0 && (hasSideEffect || looksMisread(call)))
    search.problems.push(problem.damagedCommand(call.name));
  else search.found.push({ call, repaired: true });
}

/** A guess that took brackets and keys of the reply for content, or a stray quote at an end of it. */
const looksMisread = ({ args }: CommandCall): boolean =>
  Object.values(args)
    .flat()
    .some(
      (value) =>
        typeof value === "string" &&
        (/"\s{0,50}(?::|,\s{0,50}"|[}\]]\s{0,50}[,}\]])/.test(value) ||
          /^[^“„]*”\s*$/.test(value) ||
          (/^\s*"|"\s*$/.test(value) && value.split('"').length % 2 === 0)),
    );

/** The order of the arguments says nothing. */
const isSameCall = (a: CommandCall, b: CommandCall): boolean =>
  a.name === b.name && isSame(Object.entries(a.args).sort(), Object.entries(b.args).sort());

function conclude(search: Search): Reading {
  const { found, thoughts, problems } = search;
  const [first, ...others] = found;
  if (search.hasSeveral || (first && others.some(({ call }) => !isSameCall(call, first.call))))
    return refuse(thoughts, problem.severalCommands());
  if (first && search.hasCutCommand) return refuse(thoughts, problem.cutOff());
  if (first)
    return {
      kind: "command",
      call: first.call,
      thoughts: thoughts ?? NO_THOUGHTS,
      repaired: found.every(({ repaired }) => repaired),
    };
  if (problems.length > 0) return refuse(thoughts, ...problems);
  return refuse(thoughts, thoughts || search.reply.includes("{") ? problem.noCommand() : problem.noObject());
}

const refuse = (thoughts: Thoughts | null, ...problems: readonly string[]): Reading => ({
  kind: "problem",
  problems: [...new Set(problems)].slice(0, MAX_PROBLEMS),
  thoughts,
});
