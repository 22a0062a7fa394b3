/** read-forms.ts -- reads replies of other forms: prose with code, an action on the plan, several commands. */
import type { CommandCall } from "#core/call.ts";
import { type JsonSchema, RUN_CODE } from "#core/command.ts";
import type { ActionForm } from "#core/state.ts";
import { isRecord } from "#util/json.ts";
import { type CallValidator, createCallValidator, type ReplyCatalogue } from "./check-call.ts";
import { readReturn } from "./check-value.ts";
import { findAction, resolveAction, thoughtIn } from "./find-call.ts";
import { findConflictingKey, parseShallowJson } from "./json.ts";
import * as say from "./problems.ts";
import {
  createReplyReader,
  type FurtherCall,
  isDamaged,
  isSameCall,
  MAX_REPLY_CHARS,
  type ParsedReply,
  refuseReply,
} from "./read.ts";
import { type SplitAction, splitAction } from "./split-action.ts";
import { findThoughts, NO_THOUGHTS, type Thoughts, withThought } from "./thoughts.ts";

/** The work that a reply without code ends: a sub-task with a result of that type, or else the agent's work. */
interface EndedWork {
  /** Name of the command that ends it. */
  readonly command: string;
  readonly returns?: JsonSchema;
  /** True when the reply before was refused: a block for a shell is then a part of the answer. */
  readonly isSecondTry?: boolean;
}

/**
 * Reads a reply in prose: its code becomes a call of `run_code`. Without code, a reply of the form `code` ends the
 * work: its text is the reason, or the result of a sub-task. In the form `react` an action or a line RESULT: is always
 * needed. A reply that was cut off runs only if its code was whole.
 */
export function readAction(
  text: string,
  finishReason: string,
  form: ActionForm,
  { command, returns, isSecondTry = false }: EndedWork,
): ParsedReply {
  if (text.length > MAX_REPLY_CHARS) return refuseReply(null, say.describeTooLarge(text.length, MAX_REPLY_CHARS));
  const split = splitAction(text, form);
  const thoughts = asThoughts(split.thought);
  const problem = problemOf(split, form, { isFull: finishReason === "length", isSecondTry });
  if (problem !== undefined) return refuseReply(thoughts, problem);
  const run = (call: CommandCall): ParsedReply => ({ kind: "command", call, thoughts, repaired: false });
  if (split.code !== null) return run({ name: RUN_CODE, args: { code: split.code } });
  const answer = split.result ?? split.shown;
  const args = returns ? { result: readReturn(answer, returns) } : { reason: answer };
  return run({ name: command, args });
}

const asThoughts = (text: string): Thoughts => ({ ...NO_THOUGHTS, text });

function problemOf(
  split: SplitAction,
  form: ActionForm,
  { isFull, isSecondTry }: { readonly isFull: boolean; readonly isSecondTry: boolean },
): string | undefined {
  const { code, shown, result, thought, isClosed, isOnlyReasoning, foreign } = split;
  const words = say.ACTION_PROBLEMS[form];
  if (isOnlyReasoning) return words.onlyReasoning;
  if (isFull && (code === null || !isClosed)) return words.cutOff;
  if (result !== null) return result === "" ? words.noCode : undefined;
  if (foreign !== "" && !isSecondTry) return say.describeForeignCode(foreign);
  // A quoted block of Python is never the answer: it may have been meant.
  const isMeant = isSecondTry ? /^```py/m.test(shown) : isCall(shown);
  if (code === null && form === "code" && isMeant) return say.ACTION_PROBLEMS.code.noBlock;
  if (code === null) return form === "react" || /^(?:<[^<>]{1,40}>)?$/.test(shown) ? words.noCode : undefined;
  if (code.trim() === "") return thought === "" ? words.noCode : words.emptyCode;
  return /\p{Cs}|\ufffd/u.test(code) ? say.describeDamagedLetters() : undefined;
}

/**
 * Calls in the notations that models are trained on: special tokens that something follows, tags of calls or with an
 * underscore, Mistral's, harmony's and LangChain's words, arguments in JSON, a last line that calls. Answers seldom have one.
 */
const CALL = new RegExp(
  [
    "<[|｜][^<>\\n]{1,40}[|｜]>\\s{0,20}\\S|<(?:｜DSML｜)?(?:function|invoke|execute|code|python)\\b|```(?:py|python)\\b|<(?:[a-z]{1,20}:)?[a-z]{1,20}_[a-z_]{1,40}>",
    "\\[TOOL_CALLS\\]|\\bto=functions\\.|\\naction[ _]input[ \\t]{0,5}:",
    '"(?:arguments|parameters|args|input)"\\s{0,20}:\\s{0,20}[{"]|(?:^|\\n)[ \\t]{0,40}(?:action[ \\d]*: )?(?:\\w{1,60} = )?(?:await )?\\[?[a-z_.]{1,60}\\([^\\n]*\\)\\]?$',
  ].join("|"),
  "i",
);

/** The last sentence of a short reply says what comes next. */
const ANNOUNCEMENT =
  /(?:^|[.!?\n]\s{0,5})(?:(?:first|next|now|ok|okay|so|then)\W{1,3})?(?:let me (?!know)|let['’]s |i(?:['’]ll| will|['’]m going to| am going to) )(?:[^.!?\n]|\.(?=\S))*[.!…]{0,3}$/i;
const MAX_ANNOUNCEMENT_CHARS = 300;

/** True for a call outside a block of code, and for words that announce one: as an answer they would end the work. */
const isCall = (shown: string): boolean =>
  CALL.test(shown) || /[:：]$/.test(shown) || (shown.length <= MAX_ANNOUNCEMENT_CHARS && ANNOUNCEMENT.test(shown));

/**
 * Reads a reply of the form `plan` as one command, or as problems in words. The reader of commands does the work:
 * repair, names, arguments, schemas. This form has its own shape and short names, an unknown action is answered with
 * all actions, and its thoughts are actions. `listed`: the names that an unknown action is answered with.
 */
export function createPlanReader(
  catalogue: ReplyCatalogue,
  listed: readonly string[],
  known: CallValidator = createCallValidator(catalogue),
): (text: string, finishReason: string) => ParsedReply {
  const validator: CallValidator = {
    isName: (written) => known.isName(resolveAction(written)),
    checkCall(written, source) {
      const checked = known.checkCall({ ...written, name: resolveAction(written.name) }, source);
      if (checked.kind === "valid" || checked.unknownName === undefined) return checked;
      return { ...checked, problems: [say.describeUnknownAction(checked.unknownName, listed)] };
    },
  };
  const read = createReplyReader(catalogue, validator, findAction);
  return (text, finishReason) => {
    const parsed = read(text, finishReason);
    if (parsed.kind === "problem") return { ...parsed, problems: say.rephraseProblems(parsed.problems, "plan") };
    const thought = thoughtIn(parsed.call);
    return thought === "" ? parsed : { ...parsed, thoughts: asThoughts(thought) };
  };
}

/** With the reply and its results, the messages of one step fill short-term memory (SHORT_TERM_MESSAGES). */
const MAX_CALLS = 8;

/**
 * Reads a reply that calls several native tools at once. Such calls run one after the other in one step, so each of
 * them may only read: the model chose all of them before it saw a result. Nothing is mended: the server has split the
 * calls already. Returns null for a reply that is not a whole list of calls: `createReplyReader` reads it.
 */
export function readSeveralCalls(
  text: string,
  finishReason: string,
  catalogue: ReplyCatalogue,
  validator: CallValidator,
): ParsedReply | null {
  const value = text.length > MAX_REPLY_CHARS ? undefined : parseShallowJson(text);
  const written = isRecord(value) ? value.commands : undefined;
  if (!Array.isArray(written) || written.length < 2) return null;
  const thoughts = findThoughts(value);
  const refuse = (...problems: readonly string[]): ParsedReply => refuseReply(thoughts, ...problems);
  if (finishReason === "length") return refuse(say.PROBLEMS.cutOff);
  if (written.length > 2 * MAX_CALLS) return refuse(say.describeTooManyCalls(written.length, MAX_CALLS));
  const repeated = findConflictingKey(text);
  if (repeated !== null) return refuse(say.describeRepeatedKey(repeated));
  const checked = written.map((each) => {
    const { name, args } = isRecord(each) ? each : {};
    return validator.checkCall({ name, args }, text);
  });
  const invalid = checked.filter((each) => each.kind === "invalid");
  const [unknownName] = invalid.flatMap((each) => each.unknownName ?? []);
  if (invalid.length > 0)
    return { ...refuse(...invalid.flatMap(({ problems }) => problems)), ...(unknownName && { unknownName }) };
  const calls: FurtherCall[] = [];
  for (const each of checked) {
    if (each.kind === "invalid" || calls.some(({ call }) => isSameCall(call, each.call))) continue;
    calls.push({ call: each.call, thought: withThought(null, each.thought)?.speak ?? "" });
  }
  const [first, ...further] = calls;
  if (!first) return null;
  const damaged = calls.filter(({ call }) => isDamaged(call, text));
  if (damaged.length > 0) return refuse(...damaged.map(({ call }) => say.describeDamagedLetters(call.name)));
  const lonely = calls.map(({ call }) => call.name).filter((name) => catalogue.isLonely?.(name) !== false);
  if (further.length > 0 && lonely.length > 0) return refuse(say.describeLonelyCall(lonely, MAX_CALLS));
  if (calls.length > MAX_CALLS) return refuse(say.describeTooManyCalls(calls.length, MAX_CALLS));
  const own = withThought(thoughts, first.thought || undefined) ?? NO_THOUGHTS;
  return { kind: "command", call: first.call, further, thoughts: own, repaired: false };
}
