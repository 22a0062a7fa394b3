/**
 * command.ts -- what one command is: words for the model, a schema for its
 * arguments, facts for the policy, and functions for the world.
 *
 * One file in commands/ per command, its name the file's name, default-exporting
 * `defineCommand({...})`. The policy reads `annotations`, crash recovery reads
 * `effect`; a command never decides about itself.
 */
import type { Annotations, Effect, Observation, WaitFor } from "./call.ts";
import type { StagedWrite } from "./ports/commit.ts";
import type { InboxMessage } from "./ports/inbox.ts";
import type { Workspace } from "./ports/workspace.ts";
import type { ServiceName, Services } from "./services.ts";
import type { SubagentRequest } from "./subagents/requests.ts";

/** JSON Schema of one argument. `hint` stands in the prompt's command list as `"name": "<hint>"`. */
export type PropertySchema =
  | {
      readonly type: "string";
      readonly description: string;
      readonly hint?: string;
      readonly enum?: readonly string[];
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
    }
  | {
      readonly type: "integer" | "number";
      readonly description: string;
      readonly hint?: string;
      readonly minimum?: number;
      readonly maximum?: number;
    }
  | { readonly type: "boolean"; readonly description: string; readonly hint?: string }
  | {
      readonly type: "array";
      readonly description: string;
      readonly hint?: string;
      readonly items: { readonly type: "string"; readonly minLength?: number };
      readonly minItems?: number;
      readonly maxItems?: number;
    };

/** Kept as a literal, so that the arguments' types can be read back from it. */
export interface ArgsSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, PropertySchema>>;
  readonly required?: readonly string[];
}

type Value<P> = P extends { readonly enum: readonly (infer E)[] }
  ? E
  : P extends { readonly type: "string" }
    ? string
    : P extends { readonly type: "boolean" }
      ? boolean
      : P extends { readonly type: "array" }
        ? readonly string[]
        : number;
type RequiredKey<S extends ArgsSchema> = S["required"] extends readonly (infer K)[] ? K : never;

/** The arguments' type, read back from their literal schema. */
export type Args<S extends ArgsSchema> = {
  readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? K : never]: Value<S["properties"][K]>;
} & { readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? never : K]?: Value<S["properties"][K]> };

/** All that a command may touch. Nothing else is in scope: no globals, no process.cwd(). */
export interface CommandContext {
  readonly workspace: Workspace;
  /** Aborted at the command's time limit and when the host goes down at once. */
  readonly signal: AbortSignal;
  /** Stable over crashes and attempts, unique per agent: the idempotency key of the effect. */
  readonly callId: string;
  readonly step: number;
  readonly agent: { readonly id: string; readonly name: string; readonly goals: readonly string[] };
  /** Writes to goald's own store that become durable together with the result, or not at all. Throws for one that cannot be kept. */
  stage(write: CommandWrite): void;
  /** A service that the command says it needs. Throws GOALD_NOT_CONFIGURED for one that it does not, or that is not there. */
  use<N extends ServiceName>(name: N): Services[N];
}

type Answer = { readonly message: Extract<InboxMessage, { readonly type: "answer" }> };
/**
 * What a command may stage: an answer to a call that waits, and wishes about the agent's own agents, which goald grants or
 * refuses by the agent's limits. Never a person's words, approval or settings, and no agent with rights of its own choice.
 */
export type CommandWrite =
  | Extract<StagedWrite, { readonly kind: "memory" }>
  | (Extract<StagedWrite, { readonly kind: "send" | "timer" }> & Answer)
  | SubagentRequest;

/** What `run` returns when the answer comes later: the call stays open and costs nothing meanwhile. */
export interface Waiting {
  readonly status: "waiting";
  readonly waitFor: WaitFor;
  /** ISO time at which waiting ends without an answer; null for never. */
  readonly until: string | null;
}

export type Probe = "done" | "not-done" | "unknown";

export interface Command<S extends ArgsSchema = ArgsSchema> {
  readonly name: string;
  /** A few words, as they stand in the prompt's list: `Write to file`. */
  readonly label: string;
  readonly summary: string;
  readonly args: S;
  readonly annotations: Annotations;
  /** Default: at-most-once. */
  readonly effect?: Effect;
  /** Default: 60 seconds. */
  readonly timeoutMs?: number;
  /** What it asks of the world beyond the folder. Where one of these is not set up, the command is not advertised. */
  readonly needs?: readonly ServiceName[];
  /** The call says that the goals are reached: its success finishes the turn. Only task_complete. */
  readonly closesTurn?: boolean;
  /**
   * Looks, and changes nothing; what it returns (plain JSON) is durable before `run`
   * begins and is handed to `run` and `probe`. Also the place to `preserve` what will be lost.
   */
  prepare?(args: Args<S>, context: CommandContext): Promise<unknown>;
  /**
   * Does it. A failure that the model can act on is `fail(...)` or a thrown GoaldError;
   * anything else thrown is reported as failed with its message.
   */
  run(args: Args<S>, context: CommandContext, prepared: unknown): Promise<Observation | Waiting>;
  /** Reconcilable commands only: did the interrupted call happen? Changes nothing. */
  probe?(args: Args<S>, context: CommandContext, prepared: unknown): Promise<Probe>;
}

/** Identity at run time; at compile time it ties the functions' arguments to the schema. */
export const defineCommand = <const S extends ArgsSchema>(command: Command<S>): Command<S> => command;

type Extra = Partial<Pick<Observation, "source" | "artifacts" | "code">>;
export const succeed = (text: string, extra: Extra = {}): Observation => ({
  status: "ok",
  text,
  source: "goald",
  artifacts: [],
  ...extra,
});
export const fail = (code: string, text: string, extra: Extra = {}): Observation => ({
  status: "failed",
  text,
  code,
  source: "goald",
  artifacts: [],
  ...extra,
});
/** The answer comes later: by the inbox, or not before `until`. */
export const wait = (waitFor: WaitFor, until: string | null): Waiting => ({ status: "waiting", waitFor, until });
