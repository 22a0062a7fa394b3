/** show-nested.ts -- shows the calls that commands and code make: one line each, and of many the number. Checks are shown by show-checks.ts. */
import type { CommandCall } from "#core/call.ts";
import { describeSaved } from "#core/command-names.ts";
import type { RecordedEvent } from "#core/event.ts";
import { isNestedCall } from "#core/frames.ts";
import { CHECK_COMMANDS } from "#core/goal-check.ts";
import { countNoun, headOf, oneLine } from "#core/text.ts";
import { describeCall } from "./describe-call.ts";

/** Lines for the calls of one command; it can make 1,000. */
const MAX_LINES = 20;
const MAX_CALL_CHARS = 120;
const MAX_PROBLEM_CHARS = 200;

function describe(call: CommandCall): string {
  const saved = describeSaved(call);
  return saved === undefined ? describeCall(call) : `saves ${saved}`;
}

/**
 * Returns true for an event that needs nothing further. A call is shown when it has ended, or in full when a person is asked
 * about it.
 */
export function createShowNested(print: (line: string) => void): (event: RecordedEvent) => boolean {
  const calls = new Map<string, CommandCall>();
  /** Calls that have ended, by the command that made them. */
  const ended = new Map<string, number>();

  const showEnd = (callId: string, result: string): void => {
    const call = calls.get(callId);
    calls.delete(callId);
    const parent = callId.slice(0, callId.lastIndexOf("."));
    const count = (ended.get(parent) ?? 0) + 1;
    ended.set(parent, count);
    if (call && count <= MAX_LINES) print(`  ${callId} ${oneLine(describe(call), MAX_CALL_CHARS)}: ${result}`);
  };
  const showRest = (callId: string): void => {
    const left = (ended.get(callId) ?? 0) - MAX_LINES;
    ended.delete(callId);
    if (left > 0) print(`  … and ${countNoun(left, "more call")}`);
  };

  return (event) => {
    if (!("callId" in event)) return false;
    const { callId } = event;
    const isNested = isNestedCall(callId);
    switch (event.type) {
      case "command-requested":
        if (isNested && !CHECK_COMMANDS.has(event.call.name)) calls.set(callId, event.call);
        return isNested;
      case "command-approved":
        return isNested;
      case "approval-asked": {
        const call = calls.get(callId);
        if (call) print(`Command: ${describeCall(call).replaceAll("\n", "\n  ")}`);
        return false;
      }
      case "command-denied":
        if (isNested) showEnd(callId, `denied: ${oneLine(event.reason, MAX_PROBLEM_CHARS)}`);
        return isNested;
      case "command-finished": {
        const { status, text } = event.observation;
        showRest(callId);
        if (isNested)
          showEnd(callId, status === "ok" ? status : `${status}: ${oneLine(headOf(text), MAX_PROBLEM_CHARS)}`);
        return isNested;
      }
      default:
        return false;
    }
  };
}
