/**
 * several-calls.ts -- reads a reply that calls several native tools at once.
 *
 * Such calls run one after the other in one step, so each of them may only read: the model chose all of them before it saw
 * a result. Nothing is mended: the server has split the calls already.
 */

import { isRecord } from "#util/json.ts";
import type { CallValidator, ReplyCatalogue } from "./check-call.ts";
import { isDamaged, isSameCall } from "./clear-calls.ts";
import { findConflictingKey, parseShallowJson } from "./json.ts";
import { type FurtherCall, MAX_REPLY_CHARS, type ParsedReply, refuseReply } from "./parsed-reply.ts";
import {
  describeDamagedLetters,
  describeLonelyCall,
  describeRepeatedKey,
  describeTooManyCalls,
  PROBLEMS,
} from "./problems.ts";
import { findThoughts, NO_THOUGHTS, withThought } from "./thoughts.ts";

/** With the reply and its results, the messages of one step fill short-term memory (SHORT_TERM_MESSAGES). */
const MAX_CALLS = 8;

/** Returns null for a reply that is not a whole list of calls: `createReplyReader` reads it. */
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
  if (finishReason === "length") return refuse(PROBLEMS.cutOff);
  if (written.length > 2 * MAX_CALLS) return refuse(describeTooManyCalls(written.length, MAX_CALLS));
  const repeated = findConflictingKey(text, value);
  if (repeated !== null) return refuse(describeRepeatedKey(repeated));
  const checked = written.map((each) => {
    const { name, args } = isRecord(each) ? each : {};
    return validator.checkCall({ name, args }, text);
  });
  const invalid = checked.flatMap((each) => (each.kind === "invalid" ? each.problems : []));
  const unknownName = checked.flatMap((each) => (each.kind === "invalid" ? (each.unknownName ?? []) : []))[0];
  if (invalid.length > 0) return { ...refuse(...invalid), ...(unknownName === undefined ? {} : { unknownName }) };
  const calls: FurtherCall[] = [];
  for (const each of checked) {
    if (each.kind === "invalid" || calls.some(({ call }) => isSameCall(call, each.call))) continue;
    calls.push({ call: each.call, thought: withThought(null, each.thought)?.speak ?? "" });
  }
  const [first, ...further] = calls;
  if (!first) return null;
  const damaged = text.includes("\ufffd") ? calls.filter(({ call }) => isDamaged(call)) : [];
  if (damaged.length > 0) return refuse(...damaged.map(({ call }) => describeDamagedLetters(call.name)));
  const lonely = further.length > 0 ? calls.filter(({ call }) => catalogue.isLonely?.(call.name) !== false) : [];
  if (lonely.length > 0)
    return refuse(
      describeLonelyCall(
        lonely.map(({ call }) => call.name),
        MAX_CALLS,
      ),
    );
  if (calls.length > MAX_CALLS) return refuse(describeTooManyCalls(calls.length, MAX_CALLS));
  const own = withThought(thoughts, first.thought === "" ? undefined : first.thought) ?? NO_THOUGHTS;
  return { kind: "command", call: first.call, further, thoughts: own, repaired: false };
}
