/**
 * describe.ts -- the commands in words: for the prompt, and for docs/commands.md.
 *
 * The prompt's lines have AutoGPT's form: required arguments, optional arguments, then the summary if the line has room.
 */
import type { Effect } from "#core/call.ts";
import type { PropertySchema } from "#core/command.ts";
import { isRisky } from "#core/policy.ts";
import type { RegisteredCommand } from "./registry.ts";

/** Beyond this, a line of the prompt goes without its summary. */
const MAX_LINE_CHARS = 240;

/** `8. Write to file: "write_to_file", args: "file": "<file>", "text": "<text>"`, one line per command. */
export const describeForPrompt = (all: readonly RegisteredCommand[]): string =>
  all.map((command, index) => promptLine(command, index + 1)).join("\n");

function promptLine(command: RegisteredCommand, number: number): string {
  const needed = describeArguments(command, true);
  const others = describeArguments(command, false);
  const optional = others.length > 0 ? [`optional ${others.join(", ")}`] : [];
  const list = [...needed, ...optional].join(", ");
  const line = `${number}. ${command.label}: "${command.name}", args:${list === "" ? "" : ` ${list}`}`;
  const whole = `${line} -- ${command.summary}`;
  return whole.length <= MAX_LINE_CHARS ? whole : line;
}

function describeArguments({ args }: RegisteredCommand, needed: boolean): string[] {
  return Object.entries(args.properties)
    .filter(([name]) => (args.required ?? []).includes(name) === needed)
    .map(([name, schema]) => `"${name}": "<${hintOf(name, schema)}>"`);
}

function hintOf(name: string, schema: PropertySchema): string {
  if (schema.hint !== undefined) return schema.hint;
  return schema.type === "string" && schema.enum ? schema.enum.join("|") : name;
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
  const rows = all.map((command) => [
    `\`${command.name}\``,
    command.summary,
    argumentList(command),
    AFTER_CRASH[command.effect],
    riskOf(command),
    command.needs.join(", "),
  ]);
  const head = ["command", "what it does", "arguments", "after a crash", "risk", "needs"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`).join("\n");
}

/** Arguments that may be left out carry a question mark. */
const argumentList = ({ args }: RegisteredCommand): string =>
  Object.keys(args.properties)
    .map((name) => `\`${name}${(args.required ?? []).includes(name) ? "" : "?"}\``)
    .join(", ");

/** In the words of the policy's `risky` mode. */
export function riskOf({ annotations }: RegisteredCommand): string {
  if (isRisky(annotations)) return "asks first";
  if (annotations.readOnly) return annotations.openWorld ? "reads outside" : "none";
  return annotations.destructive ? "restorable" : "only adds";
}

const escapeCell = (text: string): string => text.replaceAll("|", "\\|");
