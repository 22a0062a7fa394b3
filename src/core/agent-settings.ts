/** agent-settings.ts -- what one agent is allowed to do and to spend. */
import { type Command, PLAN_COMMANDS } from "./command.ts";
import { GoaldError } from "./errors.ts";

/** When a command runs without asking, and when a person is asked first. */
export type ApprovalMode = "always" | "risky" | "never";

/**
 * How the model answers: `json`, an object with thoughts and a command; `tools`, a native tool call; `plan`, an action as an
 * object; `react`, a thought and an action in Python; `code`, prose with a block of code.
 */
export const REPLY_FORMS = ["json", "tools", "plan", "react", "code"] as const;
export type ReplyForm = (typeof REPLY_FORMS)[number];

/** `free`: the model may make a plan. `required`: it begins with one, and its work ends when all tasks are verified or abandoned. */
export type PlanMode = "free" | "required";

export interface AgentSettings {
  readonly approve: ApprovalMode;
  /** The agent pauses after this step; null for no limit. */
  readonly stepLimit: number | null;
  /** Input and output tokens over the agent's life; null for no limit. */
  readonly tokenLimit: number | null;
  /** US dollars over the agent's life; null for no limit. */
  readonly budgetUsd: number | null;
  /** ISO time at which the agent pauses; null for none. Time in which nothing ran counts too. */
  readonly deadline: string | null;
  /** null: the model of the settings. */
  readonly model: string | null;
  /** Extra messages kept beyond nine before the window is cut back to nine. */
  readonly windowBatch: number;
  readonly form: ReplyForm;
  /** The form `plan` always has a plan. */
  readonly plan: PlanMode;
  /** The profile of the commands that it may use; null for all that work. */
  readonly commands: string | null;
  /** The daemon continues it by itself. Otherwise it goes on only while a terminal holds it in front. */
  readonly background: boolean;
}

/** Settings given at creation; state.ts has the defaults of the rest. */
export type GivenSettings = Pick<AgentSettings, "approve" | "stepLimit"> & Partial<AgentSettings>;

/** `own` has the commands of a home that name no group. */
export const COMMAND_GROUPS = [
  "files",
  "web",
  "agents",
  "code",
  "media",
  "people",
  "plan",
  "memory",
  "loop",
  "own",
] as const;
export type CommandGroup = (typeof COMMAND_GROUPS)[number];

interface GroupedCommand extends Pick<Command, "name" | "closesTurn" | "isInternal" | "listed"> {
  readonly group: CommandGroup;
}

const ALL = "all";

/**
 * Whether an agent with this profile may use the command. A profile is a text of groups and command names, as a person
 * gives them, such as "files,web,ask_user"; null offers every command that works. The command that ends a turn is in
 * every profile.
 */
export function offersCommand(profile: string | null, command: GroupedCommand): boolean {
  const { name, group } = command;
  if (profile === null || command.closesTurn === true || command.isInternal === true) return true;
  const parts = profile.split(",");
  return parts.includes(name) || parts.includes(group);
}

/** Whether an agent with this profile can make a plan and close it. */
export const offersPlan = (profile: string | null): boolean =>
  PLAN_COMMANDS.every((name) => offersCommand(profile, { name, group: "plan" }));

/**
 * Returns the profile in its one form: parts without blanks, each once, in alphabetical order; null for `all`. Throws
 * GOALD_USAGE for a part that is neither a group nor one of `known`.
 */
export function checkProfile(profile: string | null, known: readonly GroupedCommand[]): string | null {
  if (profile === null) return null;
  const parts = [...new Set(profile.split(",").map((part) => part.trim()))].filter((part) => part !== "").sort();
  const groups: readonly string[] = COMMAND_GROUPS;
  const unknown = parts.filter(
    (part) => part !== ALL && !groups.includes(part) && !known.some(({ name }) => name === part),
  );
  const shown = known.filter(({ listed, isInternal }) => listed !== false && isInternal !== true);
  if (unknown.length > 0 || parts.length === 0)
    throw new GoaldError(
      "GOALD_USAGE",
      unknown.length > 0 ? `There is no command and no group ${unknown.join(", ")}.` : "No commands are named.",
      { hint: `Groups: ${groups.join(", ")}, or all. Commands: ${shown.map(({ name }) => name).join(", ")}.` },
    );
  return parts.includes(ALL) ? null : parts.join(",");
}
