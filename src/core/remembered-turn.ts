/**
 * remembered-turn.ts -- what is remembered of a turn: what was asked, the calls that succeeded, and what came of it. Pure.
 *
 * The status of a result says whether a call succeeded, never its words. The calls are the agent's own: what code or a sub-task
 * called belongs to the command that ran it. Thoughts and failures are left out, so that the next turn copies what worked.
 */
import { MEMORY_COMMANDS, PASSIVE_COMMANDS } from "./command-names.ts";
import type { RecordedEvent, RememberedCall, TurnMemory } from "./event.ts";
import { isOpenedByWords } from "./evolve-turn.ts";
import { outsideOf } from "./provenance.ts";
import type { AgentState } from "./state.ts";
import { clip, headOf } from "./text.ts";

/** Characters of all calls together. The oldest ones are left out. */
export const MAX_MEMORY_CHARS = 40_000;
export const MAX_REMEMBERED_CALLS = 100;
const MAX_ASKED_CHARS = 1_000;
const MAX_OUTPUT_CHARS = 4_000;
const MAX_ARTIFACTS = 50;
const MAX_PATH_CHARS = 200;

export interface SucceededCall {
  readonly step: number;
  readonly callId: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly artifacts: readonly string[];
}

/** `events`: those of the turn, or its newest ones. */
export function listSucceeded(events: readonly RecordedEvent[]): readonly SucceededCall[] {
  const calls = new Map<string, Pick<SucceededCall, "name" | "args">>();
  return events.flatMap((event): readonly SucceededCall[] => {
    if (event.frame !== 0) return [];
    if (event.type === "command-requested") calls.set(event.callId, event.call);
    if (event.type !== "command-finished") return [];
    const { step, callId, observation, closesTurn } = event;
    const call = calls.get(callId);
    if (!call || isLeftOut(call.name) || closesTurn === true || observation.status !== "ok") return [];
    return [{ step, callId, name: call.name, args: call.args, artifacts: observation.artifacts }];
  });
}

/** A memory command leaves a row of its own, which shows when its fact is no longer so. */
const isLeftOut = (name: string): boolean => PASSIVE_COMMANDS.has(name) || MEMORY_COMMANDS.includes(name);

/** `calls`: the newest of those that succeeded. `output`: the agent's closing words. */
export function turnMemoryOf(
  state: AgentState,
  succeeded: readonly SucceededCall[],
  calls: readonly RememberedCall[],
  output: string,
): TurnMemory {
  const { turn, step, goals, asked, received } = state;
  const words = asked.map(({ text }) => headOf(text));
  const artifacts = new Set(succeeded.toReversed().flatMap((call) => call.artifacts.toReversed()));
  const isOwn = (path: string): boolean => !path.startsWith("_goald/") && path.length <= MAX_PATH_CHARS;
  return {
    turn,
    step,
    asked: [...(isOpenedByWords(state) ? [] : goals), ...words].map((text) => clip(text, MAX_ASKED_CHARS)),
    calls,
    callsLeftOut: succeeded.length - calls.length,
    artifacts: [...artifacts].filter(isOwn).slice(0, MAX_ARTIFACTS).toReversed(),
    output: clip(output, MAX_OUTPUT_CHARS),
    ...outsideOf(received),
  };
}
