/**
 * command.ts -- a command: words for the model, a schema for its arguments, facts for the policy, and the functions
 * that do the work.
 *
 * Each file in commands/ is one command of the same name and default-exports `defineCommand({...})`. The policy reads
 * `annotations`, crash recovery reads `effect`; a command never decides about itself. Last come the names of the commands
 * that other parts than their own file know.
 */
import type { CommandGroup, ReplyForm } from "./agent-settings.ts";
import type { Annotations, CommandCall, Effect, Observation, ScriptHash, WaitFor } from "./call.ts";
import { isGoaldError, orUndefined } from "./errors.ts";
import type { EventOf, OutputMode } from "./event.ts";
import type { CheckResult, GoalCheck } from "./goal-check.ts";
import type { WrittenArgs } from "./guarded-files.ts";
import type { NewTask, TaskState } from "./plan.ts";
import type { InboxMessage, StagedWrite } from "./ports/store.ts";
import type { Workspace } from "./ports/workspace.ts";
import type { ServiceName, Services } from "./services.ts";
import type { ActionForm } from "./state.ts";
import type { SubagentRequest } from "./subagent-requests.ts";
import { joinNames } from "./text.ts";

export type { Workspace };

export type JsonType = "string" | "integer" | "number" | "boolean" | "array" | "object" | "null";

/** A JSON Schema (2020-12) of a value. The prompt shows `description` as `"name": "<description>"`. */
export interface JsonSchema {
  readonly type?: JsonType | readonly JsonType[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: JsonSchema | boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  /** Only within the schema of the arguments, such as `#/$defs/point`. */
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

/** Schema of a command's arguments. A literal one gives them their type. Unknown arguments are refused unless it allows them. */
export interface ArgsSchema extends JsonSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

/** The type of a value, derived from its literal schema; `unknown` where the schema does not tell. */
type Value<P> = P extends { readonly const: infer C }
  ? C
  : P extends { readonly enum: readonly (infer E)[] }
    ? E
    : P extends { readonly type: readonly (infer T)[] }
      ? Value<{ readonly type: T }>
      : P extends { readonly type: infer T }
        ? TypedValue<P, T>
        : unknown;
type TypedValue<P, T> = T extends "string"
  ? string
  : T extends "integer" | "number"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? readonly (P extends { readonly items: infer I } ? Value<I> : unknown)[]
          : P extends { readonly properties: Readonly<Record<string, unknown>> }
            ? Members<P>
            : Readonly<Record<string, unknown>>;
type RequiredKey<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;
type Members<S extends { readonly properties: Readonly<Record<string, unknown>> }> = {
  readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? K : never]: Value<S["properties"][K]>;
} & { readonly [K in keyof S["properties"] as K extends RequiredKey<S> ? never : K]?: Value<S["properties"][K]> };

/** The arguments' type, derived from their literal schema. */
export type Args<S extends ArgsSchema> = Members<S>;

/** Everything that a command may use: no globals, no process.cwd(). */
export interface CommandContext {
  readonly workspace: Workspace;
  /** Aborted at the command's timeout and when the host shuts down at once. */
  readonly signal: AbortSignal;
  /** Idempotency key of the effect: unique per agent, the same in every attempt. */
  readonly callId: string;
  readonly step: number;
  /** The content that a person was asked about, of the file whose code the call runs. Absent: nobody was asked. */
  readonly script?: ScriptHash;
  readonly agent: {
    readonly id: string;
    readonly name: string;
    readonly goals: readonly string[];
    /** Checks of the goals that count in this turn. */
    readonly checks: readonly GoalCheck[];
  };
  /** Adds a write to goald's store, committed together with the result or not at all. Throws for an invalid write. */
  stage(write: CommandWrite): void;
  /**
   * Runs another command and returns its observation. Policy, limits and log are the same as for a call of the model. Nested
   * calls run one after the other, and the command's time limit stands still meanwhile.
   */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Observation>;
  /**
   * Gives the model a task of its own, with the agent's commands and limits, and returns a result that is valid against the JSON
   * Schema `returns`. Throws GOALD_SUBTASK when there is none. `form`: how the model answers; absent: as where the command runs.
   */
  run(task: string, returns: Readonly<Record<string, unknown>>, form?: ReplyForm): Promise<unknown>;
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
  | SubagentRequest
  | NamespaceWrite
  | { readonly kind: "methods-found"; readonly names: readonly string[] }
  | PlanWrite;
/** Changes of the plan, which the service `plan` has accepted, and results of checks. */
export type PlanWrite =
  | { readonly kind: "task-added"; readonly parent: string; readonly task: NewTask }
  | { readonly kind: "task-changed"; readonly id: string; readonly state: TaskState }
  | { readonly kind: "goals-checked"; readonly results: readonly CheckResult[] };
export type NamespaceWrite = { readonly kind: "namespace" } & Omit<
  EventOf<"namespace-saved">,
  "type" | "step" | "callId" | "outside"
>;

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
  /**
   * Arguments whose text goes to somebody else, which the policy judges after the agent has read text from outside (policy.ts).
   * Default: all of an open-world command, none of any other.
   */
  readonly sends?: readonly string[];
  /**
   * Arguments that name files which the command writes, such as `{ file: "text" }`: `text` has the whole new content; null when
   * no argument has it. The policy asks about files that others run, and refuses to write them when nobody was asked.
   */
  readonly writes?: WrittenArgs;
  /** The name of an argument: when it is true, nothing can restore what the call destroys. */
  readonly destroys?: string;
  /** JSON Schema of the observation's `value`, for the signature of the command as a function. Absent: code gets the text. */
  readonly returns?: JsonSchema;
  /** False: the prompt does not list the command. Method search finds it, and code and the model may call it by name. */
  readonly listed?: boolean;
  /**
   * A step of other commands of goald. Neither the model nor code may call it by name, no search finds it, and every profile has it. It
   * belongs to a call that was judged, so the policy allows it.
   */
  readonly isInternal?: boolean;
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

type Extra = Partial<Pick<Observation, "source" | "artifacts" | "code" | "value" | "asksToEnd">>;
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
/** A file before it is overwritten or deleted. `unkept`: the history cannot keep it, because of its size or of a quota. */
export type KeptFile = { readonly bytes: number; readonly sha256: string } | { readonly unkept: string };

/** For `prepare`: keeps the current version. null when there is no file. */
export async function keepFile(file: string, workspace: Workspace): Promise<KeptFile | null> {
  try {
    return (await workspace.preserve(file)) ?? null;
  } catch (error) {
    if (isGoaldError(error, "GOALD_FILE_TOO_LARGE") || isGoaldError(error, "GOALD_QUOTA_EXCEEDED"))
      return { unkept: error.message };
    throw error;
  }
}

/**
 * For `run`, before a file is overwritten: deletes one that the history cannot keep, which a person is asked about. Returns the
 * observation that ends the call; undefined when the file may be overwritten.
 */
export async function clearUnkept(
  file: string,
  kept: KeptFile | null,
  { call }: Pick<CommandContext, "call">,
): Promise<Observation | undefined> {
  if (kept === null || !("unkept" in kept)) return undefined;
  const deleted = await call("delete_file", { file, permanently: true });
  return deleted.status === "ok" ? undefined : deleted;
}

/** The answer comes later: through the inbox, or at `until`. */
export const wait = (waitFor: WaitFor, until: string | null): Waiting => ({ status: "waiting", waitFor, until });

const MAX_REFERENCES = 16;

/** Follows local references such as `#/$defs/point`. Returns an empty schema for one that leads nowhere. */
export function followReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let followed = schema;
  for (let count = 0; typeof followed.$ref === "string"; count++) {
    const next = count < MAX_REFERENCES ? findReferenced(followed.$ref, root) : undefined;
    if (!next) return {};
    // Keywords beside a reference apply too; a description there is the more specific one.
    const { $ref: _, ...beside } = followed;
    followed = { ...next, ...beside };
  }
  return followed;
}

/** Returns the schema that a local reference names; undefined for another reference. */
export function findReferenced(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodePointer(part);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return isSchema(value) ? value : undefined;
}

export function decodePointer(part: string): string {
  const plain = part.replaceAll("~1", "/").replaceAll("~0", "~");
  return orUndefined(() => decodeURIComponent(plain)) ?? plain;
}

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The types that a schema names; none when any type is allowed. */
export const typesOf = ({ type }: JsonSchema): readonly JsonType[] =>
  type === undefined ? [] : typeof type === "string" ? [type] : type;

/**
 * Replies, arguments and prepared values nest at most this many levels, because folding, showing and hashing them
 * recurse. A reply of our format needs fewer than ten.
 */
export const MAX_JSON_DEPTH = 64;

/** Number of levels of a JSON value: 0 for a text or a number. Stops counting above the limit. */
export function depthOf(value: unknown, above = 0): number {
  if (typeof value !== "object" || value === null || above > MAX_JSON_DEPTH) return above;
  return Object.values(value).reduce((deepest: number, item) => Math.max(deepest, depthOf(item, above + 1)), above + 1);
}

/** Keywords whose schemas apply to the same value: one schema, a list, a record. */
const SAME_VALUE = ["not", "if", "then", "else"];
const SAME_VALUE_GROUPS = ["allOf", "anyOf", "oneOf", "dependentSchemas"];
const MAX_FOLLOWED = 2_000;

/** True when references lead back to a schema without a step into the value, or to too many schemas: a check would never end. */
export function isEndless(root: JsonSchema): boolean {
  return listObjects(root).some((start) => {
    const left: unknown[] = [start];
    let followed = 0;
    while (left.length > 0) {
      const schema = left.pop();
      if (!isSchema(schema)) continue;
      if (++followed > MAX_FOLLOWED) return true;
      left.push(...SAME_VALUE.map((key) => schema[key]));
      left.push(...SAME_VALUE_GROUPS.flatMap((key) => Object.values(schema[key] ?? {})));
      if (typeof schema.$ref === "string") left.push(findReferenced(schema.$ref, root));
    }
    return false;
  });
}

/** Also those that are not schemas. */
function listObjects(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(listObjects)];
}

/** Ends the work. */
export const TASK_COMPLETE = "task_complete";
export const DO_NOTHING = "do_nothing";
export const THINK = "think";
/** Waits for the words of a person. */
export const ASK_USER = "ask_user";

export const PLAN_COMMANDS: readonly string[] = ["add_task", "modify_task"];

/** The commands that change the agent's own long-term memory. */
export const MEMORY_COMMANDS: readonly string[] = ["remember", "correct_memory", "forget_memory"];

/** Commands that change nothing but the agent's own thoughts and plan. */
export const PASSIVE_COMMANDS: ReadonlySet<string> = new Set([THINK, DO_NOTHING, ...PLAN_COMMANDS]);

/**
 * The first parameter of every native tool: models that must call one rarely write text beside the call. The reader
 * takes it out of the arguments.
 */
export const THOUGHT = "thought";
/** The command that the code of a reply calls. */
export const RUN_CODE = "run_code";
const CELL_COMMANDS: readonly string[] = [RUN_CODE, "execute_python_file"];
export const isCellCommand = (name: string): boolean => CELL_COMMANDS.includes(name);

/** Advice for people. */
export const INSTALL_SANDBOX = "Install the package of the sandbox: npm install pyodide.";

/** The internal command by which a cell saves files. For people, the cell itself wrote them. */
export const SAVES_FILES = "save_files";

/** The files that such a call saves, for people; undefined for another call. */
export function describeSaved({ name, args }: CommandCall): string | undefined {
  if (name !== SAVES_FILES || !Array.isArray(args.files)) return undefined;
  const paths = args.files.map((file) => String(Object(file).path));
  return joinNames(paths, MAX_NAMED);
}
const MAX_NAMED = 5;

/** A cell that failed in another way than the following ones. */
export const CELL_FAILED = "cell-failed";
/** A cell that failed at an import: the machine lacks the package, so the failure does not count. */
export const IMPORT_FAILED = "import-failed";
/** A cell that a refused command ended. It does not count either. */
export const CELL_DENIED = "cell-denied";
/** A result of a run that does not match its schema. */
export const BAD_RESULT = "bad-result";
/** Nested work that would be too deep, and a cell that failed because of it. */
export const TOO_DEEP = "too-deep";

/** A model whose cells fail this often in a row does not mend them. */
export const MAX_FAILED_CELLS = 3;

export const isActionForm = (form: ReplyForm | OutputMode): form is ActionForm => form === "react" || form === "code";
