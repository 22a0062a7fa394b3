/** call.ts -- one call of a command: what was asked for, what it may do outside, and what came of it. */
import type { EventOf, NewEvent, OfCall } from "./event.ts";
import { expectedSources, type OutsideSource, withSources } from "./provenance.ts";
import { type Deed, type EndedRun, type Frame, INTERRUPTED, type NestedResult } from "./state.ts";
import type { Text } from "./text.ts";

export interface CommandCall {
  readonly name: string;
  /** Valid against the command's schema. A string over 32 KB is a blob reference. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** Writes calls, whose arguments are JSON, as a reply in JSON. `thoughts`: the part of the reply before them, with its comma. */
export function writeCalls(calls: readonly Readonly<Record<"name" | "args", string>>[], thoughts = ""): string {
  const commands = calls.map(({ name, args }) => `{"name":${JSON.stringify(name)},"args":${args}}`);
  return `{${thoughts}${commands.length === 1 ? `"command":${commands[0]}` : `"commands":[${commands.join(",")}]`}}`;
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

export const MILDEST_FIRST: readonly Effect[] = ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"];

/** The effect that recovery must respect when the log and the command disagree. */
export const stricterEffect = (a: Effect, b: Effect): Effect =>
  MILDEST_FIRST.indexOf(a) >= MILDEST_FIRST.indexOf(b) ? a : b;

/** A call that has begun and not ended. An intent whose epoch is older than the lease's was interrupted. */
export type OpenCall =
  | (Pick<EventOf<"model-asked">, keyof OfCall | "attempt" | "epoch" | "model" | "mode"> & {
      readonly kind: "model";
      readonly frame: number;
      /** Possible charges that no other field counts; 0 once a failure is recorded. */
      readonly reservedTokens: number;
      readonly reservedUsd: number | null;
      /** The attempt has failed, and is counted. */
      readonly isSettled?: true;
    })
  | (Pick<EventOf<"command-requested">, keyof OfCall | "call" | "thought" | "leaving"> & {
      readonly kind: "command";
      readonly frame: number;
      /** Set when a person was asked about the file whose code the call runs. */
      readonly script?: ScriptHash;
      /** Results of nested work that has ended, in order of their ordinals; absent: none. */
      readonly results?: readonly NestedResult[];
      /** The last sub-tasks of this call that have ended, oldest first; absent: none. */
      readonly runs?: readonly EndedRun[];
      /** Cells in its sub-tasks that failed because nested work would have been too deep; absent: none. */
      readonly tooDeep?: number;
      /** The newest deed of its nested calls. */
      readonly did?: Deed;
      /** Absent until command-started, which has the number `seq`. */
      readonly intent?: Omit<EventOf<"command-started">, "type" | keyof OfCall> & {
        readonly seq: number;
        readonly at: string;
        /** Newest epoch that found the call interrupted, so that one death counts once. */
        readonly seenInterruptedAt?: number;
      };
    });

/** The most that these calls may still cost. A model without a known price counts as free. */
export function reservedBy(calls: readonly OpenCall[]): { readonly tokens: number; readonly usd: number } {
  const reserved = calls.map((call) =>
    call.kind === "model" ? { tokens: call.reservedTokens, usd: call.reservedUsd } : call.intent?.reserved,
  );
  return {
    tokens: reserved.reduce((sum, each) => sum + (each?.tokens ?? 0), 0),
    usd: reserved.reduce((sum, each) => sum + (each?.usd ?? 0), 0),
  };
}

// Ids of calls. They come from the step number, and from the path in a nested frame, so that they need no randomness.
// Pure.
export const modelCallId = ({ path, asked }: Frame, step: number): string =>
  path === "" ? `m${step}` : `${path}.m${asked + 1}`;
/** The first call of a reply in a step of the agent itself. */
export const callIdOfStep = (step: number): string => `c${step}`;
/** `index`: place of the call among those of its reply, from 0. */
export const commandCallId = ({ path, asked }: Frame, step: number, index: number): string =>
  (path === "" ? callIdOfStep(step) : `${path}.c${asked}`) + (index === 0 ? "" : `-${index + 1}`);

export interface ScriptHash {
  /** SHA-256 of the file's bytes; null when it could not be read. */
  readonly sha256: string | null;
}

/** A file when the question was asked. The call runs only this content. */
export interface AskedScript extends ScriptHash {
  readonly file: string;
  /** The whole content; empty when it could not be read. */
  readonly code: Text;
}

const RUNS_FILE = "execute_python_file";

/** The file whose code the call runs; undefined for another call. */
export function scriptOf({ name, args }: CommandCall): string | undefined {
  const { file } = args;
  return name === RUNS_FILE && typeof file === "string" ? file : undefined;
}

type OpenCommand = Extract<OpenCall, { kind: "command" }>;

interface UnknownOutcome {
  /** Why the probe failed, as a sentence. */
  readonly problem?: string | undefined;
  /** Default: sources that follow from the log. */
  readonly outside?: readonly OutsideSource[];
}

/** The observation for an interrupted call whose outcome cannot be known, for the model. Pure. */
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
