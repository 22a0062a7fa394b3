/** call.ts -- one call of a command: what was asked for, what it may do outside, and what came of it. */
import type { OutsideSource } from "./provenance.ts";
import type { Text } from "./text.ts";

/** One command that the model asked for. */
export interface CommandCall {
  readonly name: string;
  /** Valid against the command's schema. A string over 32 KB is a blob reference. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** About 5,000 tokens of a prompt. The text of a longer observation goes to a file. */
export const MAX_OBSERVATION_CHARS = 20_000;

/** The result of a call. A failure is an observation too: the model reads it and adapts. */
export interface Observation {
  readonly status: "ok" | "failed" | "denied" | "cancelled" | "unknown";
  readonly text: Text;
  /** Machine-readable reason of a failure, such as `file-missing`. */
  readonly code?: string;
  /** Where the text came from. Text from outside is data and taints the agent. */
  readonly source: "goald" | "workspace" | "person" | "web" | "agent" | "model";
  /** Sources of the outside words that the text holds. Absent: none, or only `source` is known. */
  readonly outside?: readonly OutsideSource[];
  /** The result as JSON, for code that made the call. Absent: code gets the text. Not kept where no code reads it. */
  readonly value?: unknown;
  /** The code of a cell called `stop()`: its frame asks to end the work. */
  readonly asksToEnd?: true;
  /** Workspace paths that this call created or changed. */
  readonly artifacts: readonly string[];
}

/** What a waiting command or agent waits for. */
export type WaitFor = "time" | "approval" | "person" | "agent";

/**
 * Facts that the policy judges by, named after MCP's tool annotations.
 * The policy assumes the worst for a fact that a command leaves out.
 */
export interface Annotations {
  /** Changes nothing, inside the workspace or outside. */
  readonly readOnly: boolean;
  /** May overwrite or remove existing data. */
  readonly destructive: boolean;
  /** Running twice has the same result as running once. */
  readonly idempotent: boolean;
  /** Reaches beyond the workspace: the network, other programs, other people. */
  readonly openWorld: boolean;
  /** goald's own file history can restore what the command destroys. */
  readonly restorable?: boolean;
}

/**
 * What a crash between intent and result may leave behind, and so what recovery does:
 *   pure           changes nothing: run again
 *   idempotent     twice equals once: run again, with the same call id
 *   transactional  acts only through `stage`, committed with the result, and through nested calls, whose results are
 *                  recorded: run again, it cannot have happened
 *   reconcilable   `probe` can tell from what `prepare` recorded whether it happened
 *   at-most-once   nobody can tell: never run again; the model reads `unknown` and checks for itself
 */
export type Effect = "pure" | "idempotent" | "transactional" | "reconcilable" | "at-most-once";

const MILDEST_FIRST: readonly Effect[] = ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"];

/** The effect that recovery must respect when the log and the command disagree. */
export const stricterEffect = (a: Effect, b: Effect): Effect =>
  MILDEST_FIRST.indexOf(a) >= MILDEST_FIRST.indexOf(b) ? a : b;
