/**
 * loops.ts -- detects a model that repeats the same command with the same arguments.
 *
 * Only requests count, not their results, so that endless polling, a call that is denied each time,
 * and doing nothing all day are found too. A reply with several commands counts as one request. An unreadable reply does not
 * interrupt a repetition; a person's words, new goals or a resume do, because they change the situation.
 */

import type { CommandCall } from "./call.ts";
import { awaitsHelpers } from "./completion.ts";
import type { EventOf, NewEvent } from "./event.ts";
import type { Frame, Repetition } from "./frame.ts";
import { type AgentState, activeFrame } from "./state.ts";
import { countNoun, isBlobRef } from "./text.ts";

/** A second look can make sense. At the third, most models change course when a message points it out. */
const TELL_AT = 3;
/** The model was warned and repeated the command twice more. */
const STOP_AT = 5;

/** `isFurther`: the reply holds other calls before this one. */
export function countRequest(
  before: Repetition | null,
  { step, callId, call }: EventOf<"command-requested">,
  isFurther: boolean,
): Repetition {
  if (before && isFurther) return compare({ ...before, calls: [...before.calls, call] });
  const last = before && isSameCall(before.calls[0], call) ? before : null;
  const kept = last && { calls: last.calls, count: last.count, noticed: last.noticed };
  return compare({ step, callId, calls: [call], last: kept });
}

function compare(reply: Omit<Repetition, "count" | "noticed">): Repetition {
  const { calls, last } = reply;
  const isSame = last?.calls.length === calls.length && last.calls.every((call, at) => isSameCall(call, calls[at]));
  return isSame ? { ...reply, count: last.count + 1, noticed: last.noticed } : { ...reply, count: 1, noticed: false };
}

/** Warns once per repetition, after the result of the third request. */
export function noticeDue({ repetition }: Frame): NewEvent | undefined {
  if (!repetition || repetition.noticed || repetition.count < TELL_AT) return undefined;
  const { step, callId, count } = repetition;
  return { type: "repetition-noticed", step, callId, count };
}

/** A warned agent with working sub-agents waits for their next report, which costs nothing. */
export const isIdle = (state: AgentState): boolean =>
  awaitsHelpers(state) ||
  (activeFrame(state).repetition?.noticed === true && Object.values(state.children).some(({ isWorking }) => isWorking));

/** The model reads this text. */
export const noticeText = ({ calls }: Repetition, count: number): string =>
  `You have asked for ${namesOf(calls)} with the same arguments ${count} times in a row. The same again will bring nothing new: ` +
  "look at what came back, then take another way, or end the work if there is nothing left to do. " +
  `At the ${STOP_AT}th time the command is not run, and you are paused.`;

/** The reason why this request does not run, for people; undefined when it may be judged. */
export function circleOf({ repetition }: Frame, callId: string): string | undefined {
  if (!repetition || repetition.callId !== callId || repetition.count < STOP_AT) return undefined;
  const { calls, count } = repetition;
  return (
    `${namesOf(calls)} was asked for with the same arguments ${count} times in a row; the last one was not run. ` +
    'Tell the agent what to do instead (goald say <agent> "…") or change its goals (goald goals <agent> --set "…"), ' +
    "then let it go on: goald resume <agent>"
  );
}

const namesOf = ([{ name }, ...others]: Repetition["calls"]): string =>
  others.length === 0 ? name : `${name} (and ${countNoun(others.length, "other command")} beside it)`;

const isSameCall = (one: CommandCall, other: CommandCall | undefined): boolean =>
  one.name === other?.name && isSameValue(one.args, other.args);

/** JSON with sorted keys; long texts are represented by their hash. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isBlobRef(one) && isBlobRef(other)) return one.blob === other.blob;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameValue(valueAt(one, name), valueAt(other, name)))
  );
}

const valueAt = (object: object, name: string): unknown => (object as Record<string, unknown>)[name];
