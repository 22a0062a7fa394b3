/**
 * command-profile.ts -- which commands an agent may use: groups and names, as a person gives them. Pure.
 *
 * A profile is a text such as "files,web,ask_user"; null offers every command that works. The command that ends a turn
 * is in every profile.
 */
import { PLAN_COMMANDS } from "./command-names.ts";
import { GoaldError } from "./errors.ts";

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

interface GroupedCommand {
  readonly name: string;
  readonly group: CommandGroup;
  readonly closesTurn?: boolean;
  readonly isInternal?: boolean;
  readonly listed?: boolean;
}

const ALL = "all";

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
