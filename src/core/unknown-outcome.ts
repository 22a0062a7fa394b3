/** unknown-outcome.ts -- what the model reads about a call whose outcome nobody can know. Pure. */
import type { NewEvent } from "./event.ts";
import type { OpenCall } from "./open-call.ts";
import { expectedSources, type OutsideSource, withSources } from "./provenance.ts";
import { INTERRUPTED } from "./state.ts";

type OpenCommand = Extract<OpenCall, { kind: "command" }>;

interface UnknownOutcome {
  /** Why the probe failed, as a sentence. */
  readonly problem?: string | undefined;
  /** Default: sources that follow from the log. */
  readonly outside?: readonly OutsideSource[];
}

/** The observation for an interrupted call whose outcome cannot be known. */
export function outcomeUnknown(
  callId: string,
  open: OpenCommand,
  { problem, outside = sourcesOfInterrupted(open) }: UnknownOutcome = {},
): NewEvent {
  const { call, step, intent } = open;
  const text =
    `The outcome of ${call.name} is unknown: it was started at ${intent?.at ?? "an unknown time"} and goald stopped before it saw the end. ` +
    `It may or may not have happened. ${problem === undefined ? "" : `Its probe failed: ${problem} `}Look before you repeat it.`;
  return finish(callId, step, text, outside);
}

/** The observation for a command that ran again after a crash and did not ask for the same nested work as before. */
export function differed(callId: string, open: OpenCommand): NewEvent {
  const { call, step } = open;
  const text =
    `The outcome of ${call.name} is unknown: it was interrupted, and when it ran again it took another way than before. ` +
    "What it had done by then is not repeated. Look before you repeat it.";
  return finish(callId, step, text, sourcesOfInterrupted(open));
}

/** Sources that the interrupted call may have received, as far as the log tells. */
export function sourcesOfInterrupted({ call, intent }: OpenCommand): readonly OutsideSource[] {
  return intent ? [...(intent.outside ?? []), ...expectedSources(intent.annotations, call.args)] : [];
}

function finish(callId: string, step: number, text: string, outside: readonly OutsideSource[]): NewEvent {
  const observation = { status: "unknown", code: INTERRUPTED, text, source: "goald", artifacts: [] } as const;
  return { type: "command-finished", step, callId, observation: withSources(observation, outside), durationMs: 0 };
}
