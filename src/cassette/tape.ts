/**
 * tape.ts -- the interface between a run and its external inputs, for recording and replay. The ports that answer from
 * outside, the clock, the inbox, external values and the loop's own parts pass through a tape. Any other input would
 * make a replay end in another state.
 */
import type { Move } from "#core/decide.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { AgentRow, InboxMessage } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { Outcome } from "#loop/journal.ts";
import type { RunParts } from "#loop/run-parts.ts";
import type { TapedPorts } from "./answers.ts";
import type { Folder } from "./folder.ts";
import type { Line, Session, SessionLine } from "./format.ts";

export interface Tape {
  /** True for a replay, which makes no external requests. */
  readonly plays: boolean;
  readonly ports: TapedPorts;
  readonly clock: Clock;
  /** Clock for parts outside the loop, whose times are in no event. */
  readonly beside: Clock;
  /** Returns the result of `compute`, or the recorded one. It must be plain JSON. */
  value<T>(name: string, compute: () => T): T;
  /** Replaces the sandbox that `open` creates. A replay never calls `open`. */
  sandbox(open: () => Sandbox): Sandbox;
  through(parts: RunParts): RunParts;
}

export interface RecorderParts {
  /** Throws for the lines `session` and `committed` once a line could not be written. */
  write(line: Line): void;
  readonly clock: Clock;
  /**
   * Redacts known secrets and everything that looks like one. The run must use the same function for texts that it
   * keeps.
   */
  redact(text: string): string;
  /** Called when the folder cannot be recorded. `write` then throws the error. */
  onFailed(error: Error): void;
}

export interface Begin extends Pick<SessionLine, "epoch" | "settings" | "catalogue" | "pause"> {
  readonly row: AgentRow;
  readonly created: Extract<RecordedEvent, { readonly type: "agent-created" }>;
  readonly services: readonly string[];
  readonly folder: Folder;
}

export interface PlayerParts {
  readonly session: Session;
  /** The last event of a process that was killed; undefined when the session ended normally. */
  readonly cutAfter: number | undefined;
  redact(text: string): string;
  folder(): Folder;
  /** Puts a message into the inbox of the agent that is replayed. */
  deliver(key: string, message: InboxMessage, at: string): Promise<unknown>;
  hint(): string;
}

export interface Place {
  readonly step: number;
  readonly attempt: number;
}

export function placeOf(move: Move, state: AgentState): Place {
  const { step = state.step, attempt = 1 } = move as Partial<Place>;
  return { step, attempt };
}

/** Whether the command that is about to run has effects outside the agent's folder. */
export const isOutside = (intent: Outcome | null): boolean =>
  intent?.events.some((event) => event.type === "command-started" && event.annotations.openWorld) === true;

/** Returns a function that counts events per attempt of the current step, from 1. */
export function createOrdinals(): (place: Place) => number {
  const counts = new Map<number, number>();
  let current = 0;
  return ({ step, attempt }) => {
    if (step !== current) counts.clear();
    current = step;
    const count = (counts.get(attempt) ?? 0) + 1;
    counts.set(attempt, count);
    return count;
  };
}
