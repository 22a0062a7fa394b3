/**
 * describe.ts -- the commands in words: for the prompt, and for docs/commands.md.
 *
 * The prompt's lines have AutoGPT's form: required arguments, optional arguments, then the summary.
 */
import type { Effect } from "#core/call.ts";
import { isRisky } from "#core/policy.ts";
import { describeMembers } from "./describe-args.ts";
import type { RegisteredCommand } from "./registry.ts";

/** Renders one line per command: `9. Read file: "read_file", args: "file": "<path>", optional "first_line": <from 1>`. */
export const describeForPrompt = (all: readonly RegisteredCommand[]): string =>
  all.map((command, index) => describePromptLine(command, index + 1)).join("\n");

const describePromptLine = (command: RegisteredCommand, number: number): string =>
  `${number}. ${command.label}: ${describeFoundCommand(command)}`;

/** Renders a command that the list does not have, without a number and a label. */
export function describeFoundCommand({ name, args, summary }: RegisteredCommand): string {
  const list = describeMembers(args);
  return `"${name}", args:${list === "" ? "" : ` ${list}`} -- ${summary}`;
}

/** For the tables of commands. describeCommand has the same in sentences. */
export const AFTER_CRASH: Readonly<Record<Effect, string>> = {
  pure: "safe to repeat",
  idempotent: "safe to repeat",
  transactional: "safe to repeat",
  reconcilable: "checks first",
  "at-most-once": "never repeated",
};

/** A Markdown table. */
export function renderCommandTable(all: readonly RegisteredCommand[]): string {
  const shown = all.filter(({ isInternal }) => isInternal !== true);
  const rows = shown.map((command) => [
    `\`${command.name}\``,
    command.group,
    command.summary,
    listArguments(command),
    AFTER_CRASH[command.effect],
    describeRisk(command),
    command.needs.join(", "),
  ]);
  const head = ["command", "group", "what it does", "arguments", "after a crash", "risk", "needs"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`).join("\n");
}

/** Marks optional arguments with a question mark. */
const listArguments = ({ args }: RegisteredCommand): string =>
  Object.keys(args.properties)
    .map((name) => `\`${name}${(args.required ?? []).includes(name) ? "" : "?"}\``)
    .join(", ");

/** Describes the risk in the terms of the policy mode `risky`. */
export function describeRisk({ annotations }: RegisteredCommand): string {
  if (isRisky(annotations)) return "asks first";
  if (annotations.readOnly) return annotations.openWorld ? "reads outside" : "none";
  return annotations.destructive ? "restorable" : "only adds";
}

const escapeCell = (text: string): string => text.replaceAll("|", "\\|");
