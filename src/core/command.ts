/**
 * command.ts -- a command: words for the model, a schema for its arguments, facts
 * for the policy, and the functions that do the work.
 *
 * Each file in commands/ is one command of the same name and default-exports
 * `defineCommand({...})`. The policy reads `annotations`, crash recovery reads
 * `effect`; a command never decides about itself.
 */
import type { Annotations, Effect, Observation, WaitFor } from "./call.ts";
import type { CommandGroup } from "./command-profile.ts";
import type { StagedWrite } from "./ports/commit.ts";
import type { InboxMessage } from "./ports/inbox.ts";
import type { Workspace } from "./ports/workspace.ts";
import type { ServiceName, Services } from "./services.ts";
import type { SubagentRequest } from "./subagents/requests.ts";

export type { Workspace };

/** JSON Schema of one argument. The prompt's command list shows `hint` as `"name": "<hint>"`. */
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

/** Literal schema, so that `Args` can derive the arguments' type from it. */
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

/** The arguments' type, derived from their literal schema. */
export type Args<S extends ArgsSchema> = {
  readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? K : never]: Value<S["properties"][K]>;
} & { readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? never : K]?: Value<S["properties"][K]> };

/** Everything that a command may use: no globals, no process.cwd(). */
export interface CommandContext {
  readonly workspace: Workspace;
  /** Aborted at the command's timeout and when the host shuts down at once. */
  readonly signal: AbortSignal;
  /** Idempotency key of the effect: unique per agent, the same in every attempt. */
  readonly callId: string;
  readonly step: number;
  readonly agent: { readonly id: string; readonly name: string; readonly goals: readonly string[] };
  /** Adds a write to goald's store, committed together with the result or not at all. Throws for an invalid write. */
  stage(write: CommandWrite): void;
  /**
   * Runs another command and returns its observation. Policy, limits and log are the same as for a call of the model. Nested
   * calls run one after the other, and the command's time limit stands still meanwhile.
   */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Observation>;
  /**
   * Gives the model a task of its own, with the agent's commands and limits, and returns a result that is valid against the JSON
   * Schema `returns`. Throws GOALD_SUBTASK when there is none.
   */
  run(task: string, returns: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Returns a service listed in `needs`. Throws GOALD_NOT_CONFIGURED when it is not listed or not set up. */
  use<N extends ServiceName>(name: N): Services[N];
}

type AnswerWrite = { readonly message: Extract<InboxMessage, { readonly type: "answer" }> };
/**
 * Writes that a command may stage: memories, answers to waiting calls, and requests about sub-agents, which goald
 * grants or refuses by the agent's limits. A command cannot stage a person's words, approvals or settings.
 */
export type CommandWrite =
  | Extract<StagedWrite, { readonly kind: "memory" }>
  | (Extract<StagedWrite, { readonly kind: "send" | "timer" }> & AnswerWrite)
  | SubagentRequest;

/** Returned by `run` when the answer comes later. The call stays open and costs nothing meanwhile. */
export interface Waiting {
  readonly status: "waiting";
  readonly waitFor: WaitFor;
  /** ISO time at which waiting ends without an answer; null for never. */
  readonly until: string | null;
}

export type Probe = "done" | "not-done" | "unknown";

export interface Command<S extends ArgsSchema = ArgsSchema> {
  readonly name: string;
  /** A few words for the prompt's list, such as `Write to file`. */
  readonly label: string;
  readonly summary: string;
  /** The profile that offers the command (`--commands files,web`). Default: own. */
  readonly group?: CommandGroup;
  readonly args: S;
  readonly annotations: Annotations;
  /** Default: at-most-once. */
  readonly effect?: Effect;
  /** Default: 60 seconds. */
  readonly timeoutMs?: number;
  /** Services that the command uses. The model does not see the command while one of them is not set up. */
  readonly needs?: readonly ServiceName[];
  /** A successful call finishes the turn. Only for task_complete. */
  readonly closesTurn?: boolean;
  /**
   * Reads what `run` and `probe` need. Its result (plain JSON, at most 64 levels deep, without secrets of the settings)
   * is durable before `run` begins and comes back byte for byte after a crash. It may `preserve` a file that `run`
   * overwrites; any other change is refused.
   */
  prepare?(args: Args<S>, context: CommandContext): Promise<unknown>;
  /**
   * Does the work. Return `fail(...)` or throw a GoaldError for a failure that the model can act on.
   * Any other error is reported to the model with its message.
   */
  run(args: Args<S>, context: CommandContext, prepared: unknown): Promise<Observation | Waiting>;
  /** Reconcilable commands only: returns whether the interrupted call happened. It may only read and `preserve`. */
  probe?(args: Args<S>, context: CommandContext, prepared: unknown): Promise<Probe>;
}

/** Returns its argument; the compiler checks the functions' arguments against the schema. */
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
/** The answer comes later: through the inbox, or at `until`. */
export const wait = (waitFor: WaitFor, until: string | null): Waiting => ({ status: "waiting", waitFor, until });
