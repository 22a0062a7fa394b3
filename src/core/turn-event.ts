/** turn-event.ts -- the beginning and the end of a turn, and what is remembered of it. */
import type { OutsideSource } from "./provenance.ts";

/** A command that succeeded in a turn. */
export interface RememberedCall {
  readonly name: string;
  /** The arguments, bounded; a longer one is named by its file and its beginning. */
  readonly input: string;
}

/** The compact memory of a finished turn: what was asked, what succeeded, and what came of it. It has no thoughts and no failures. */
export interface TurnMemory {
  readonly turn: number;
  /** The turn's last step. */
  readonly step: number;
  /** The words or goals that the turn was for. */
  readonly asked: readonly string[];
  /** In order. */
  readonly calls: readonly RememberedCall[];
  /** Number of earlier calls that were left out, because there were too many. A very long turn had more. */
  readonly callsLeftOut: number;
  /** Paths of files that the turn's commands created or changed. */
  readonly artifacts: readonly string[];
  /** The agent's closing words. */
  readonly output: string;
  /** Sources of the outside words that the agent had received; absent: none. */
  readonly outside?: readonly OutsideSource[];
}

export type TurnEvent =
  /** New goals or a person's words arrived after the last turn was finished. */
  | { readonly type: "turn-started"; readonly turn: number }
  | { readonly type: "turn-finished"; readonly outcome: "completed"; readonly reason: string }
  /** Recorded right before the turn is finished. */
  | ({ readonly type: "turn-remembered" } & TurnMemory);
