/**
 * loops.ts -- whether a model goes round in a circle: the same command with the same arguments, again and again.
 *
 * Only requests count: what came of them does not, so that a poll that never ends, a call that is denied each time,
 * and a model that does nothing all day are the circles that they are. A reply that could not be read
 * does not interrupt a circle; a person's word, new goals or a resume does, since the next request is made in
 * another light.
 */

import type { CommandCall } from "./call.ts";
import type { EventOf, NewEvent } from "./event.ts";
import type { AgentState, Repetition } from "./state.ts";
import { isBlobRef } from "./text.ts";

/** Two can be a second look. At the third nothing new is to be expected, and most models turn when they are told. */
const TELL_AT = 3;
/** Told, and done twice more: from here on it only costs money. */
const STOP_AT = 5;

export function countRequest(before: Repetition | null, event: EventOf<"command-requested">): Repetition {
  const { step, callId, call } = event;
  if (!before || !isSameCall(before.call, call)) return { step, callId, call, count: 1, noticed: false };
  return { ...before, step, callId, count: before.count + 1 };
}

/** Told once for each circle, after the result of the request that closed it. */
export function noticeDue({ repetition }: AgentState): NewEvent | undefined {
  if (!repetition || repetition.noticed || repetition.count < TELL_AT) return undefined;
  const { step, callId, count } = repetition;
  return { type: "repetition-noticed", step, callId, count };
}

/** It has been told and does nothing new, while others work for it: their next word is waited for, which costs nothing. */
export const isIdle = ({ repetition, children }: AgentState): boolean =>
  repetition?.noticed === true && Object.values(children).some(({ isWorking }) => isWorking);

/** What the model reads. */
export const noticeText = (name: string, count: number): string =>
  `You have asked for ${name} with the same arguments ${count} times in a row. The same again will bring nothing new: ` +
  "look at what came back, then take another way, or end the work if there is nothing left to do. " +
  `At the ${STOP_AT}th time the command is not run, and you are paused.`;

/** Why this request is not run, for people; undefined when it may be judged. */
export function circleOf({ repetition }: AgentState, callId: string): string | undefined {
  if (!repetition || repetition.callId !== callId || repetition.count < STOP_AT) return undefined;
  const { call, count } = repetition;
  return (
    `${call.name} was asked for with the same arguments ${count} times in a row; the last one was not run. ` +
    'Tell the agent what to do instead (goald say <agent> "…") or change its goals (goald goals <agent> --set "…"), ' +
    "then let it go on: goald resume <agent>"
  );
}

const isSameCall = (one: CommandCall, other: CommandCall): boolean =>
  one.name === other.name && isSameValue(one.args, other.args);

/** As JSON, the order of names left out of account; long texts by their hash. */
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
