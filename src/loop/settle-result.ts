/**
 * settle-result.ts -- what the result of a call means for its frame: whether it ends a turn or a sub-task, and what is kept of it.
 *
 * A value is kept where code reads it: of a nested call, and of what ends a sub-task. A cell ends its sub-task with `stop(value)`,
 * and in code form with any value; the value must be one that the sub-task's schema allows.
 */
import type { Observation } from "#core/call.ts";
import { BAD_RESULT, isCellCommand } from "#core/command-names.ts";
import { frameOfCall } from "#core/frames.ts";
import { type AgentState, formOfFrame } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { checkResult } from "#reply/check-value.ts";

interface SettledResult {
  readonly observation: Observation;
  readonly closesTurn?: true;
}

export function settleResult(
  observation: Observation,
  command: { readonly name: string; readonly closesTurn?: boolean },
  callId: string,
  state: AgentState,
): SettledResult {
  const { value, asksToEnd, ...plain } = observation;
  const frame = frameOfCall(state, callId);
  const closes = command.closesTurn === true && plain.status === "ok" ? { closesTurn: true as const } : {};
  if (frame?.kind === "call") return { observation: value === undefined ? plain : { ...plain, value }, ...closes };
  if (frame?.kind !== "run" || !frame.origin)
    return { observation: asksToEnd ? { ...plain, asksToEnd } : plain, ...closes };
  const isResult = asksToEnd === true || (formOfFrame(state) === "code" && value !== undefined);
  if (!isCellCommand(command.name) || plain.status !== "ok" || !isResult) return { observation: plain, ...closes };
  const result = value ?? null;
  const problems = checkResult(frame.origin.returns, result);
  if (problems.length === 0) return { observation: { ...plain, value: result }, closesTurn: true };
  const reason = `The value of the code is not the result that this task asks for. ${problems.join(" ")}`;
  const text = `${headOf(plain.text)}\n${reason}`.trimStart();
  return { observation: { ...plain, status: "failed", code: BAD_RESULT, text } };
}
