/**
 * plan-action.ts -- an action of the form `plan`, as a command.
 *
 *   {"action": "write_to_file", "args": {"file": "a.md", "text": "…"}}
 *
 * Actions are commands. The short names of OpenDevin's planner stand for the commands that do the same, and `contents` for the
 * content of a file.
 */
import type { CommandCall } from "#core/call.ts";
import { DO_NOTHING, RUN_CODE, TASK_COMPLETE, THINK } from "#core/command-names.ts";
import { isRecord } from "#util/json.ts";
import type { RawCall } from "./find-call.ts";
import { parseShallowJson } from "./json.ts";

const SHORT_NAMES: Readonly<Record<string, string>> = {
  write: "write_to_file",
  read: "read_file",
  run: RUN_CODE,
  finish: TASK_COMPLETE,
  null: DO_NOTHING,
};
const FILE_ARGUMENTS = { path: "file", content: "text", contents: "text" };
const SHORT_ARGUMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  write_to_file: FILE_ARGUMENTS,
  append_to_file: FILE_ARGUMENTS,
  read_file: { path: "file" },
};
/** Keys beside the action that are neither arguments nor content. */
const BESIDE: readonly string[] = ["action", "args", "message", "thought", "thoughts"];

/** The thought that an action of this form consists of; empty for any other action. */
export const thoughtIn = ({ name, args }: CommandCall): string =>
  name === THINK && typeof args.thought === "string" ? args.thought : "";

/** An action as the model wrote it, as a command; undefined for a reply that is not JSON with an action. */
export function readWrittenAction(text: string): CommandCall | undefined {
  const value = parseShallowJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  const shaped = findAction(value);
  if (shaped === value || !isRecord(shaped)) return undefined;
  const { name, args } = toCommand(shaped.command as RawCall);
  return typeof name === "string" ? { name, args: isRecord(args) ? args : {} } : undefined;
}

/** Gives an object with an action the shape of a reply with a command. Returns anything else as it is. */
export function findAction(value: unknown): unknown {
  if (!isRecord(value) || !Object.hasOwn(value, "action") || Object.hasOwn(value, "command")) return value;
  const { action, args } = value;
  if (typeof action !== "string" && action !== null) return value;
  const beside = Object.entries(value).filter(([key]) => !BESIDE.includes(key));
  const content = beside.filter(([key]) => key === "content" || key === "contents");
  const given = isRecord(args) ? { ...Object.fromEntries(content), ...args } : (args ?? Object.fromEntries(beside));
  return { command: { name: String(action), args: given } };
}

/** `written`: any names. */
export function toCommand({ name: written, args }: RawCall): RawCall {
  const name = typeof written === "string" ? resolveAction(written) : written;
  const renamed = typeof name === "string" && Object.hasOwn(SHORT_ARGUMENTS, name) ? SHORT_ARGUMENTS[name] : undefined;
  if (!isRecord(args)) return { name, args };
  if (renamed) return { name, args: renameKeys(args, renamed) };
  return { name, args };
}

export function resolveAction(written: string): string {
  const name = written.trim().toLowerCase();
  return Object.hasOwn(SHORT_NAMES, name) ? (SHORT_NAMES[name] as string) : written;
}

/** A key keeps its name when the other name is taken: the schema then tells that there are two. */
function renameKeys(args: Readonly<Record<string, unknown>>, names: Readonly<Record<string, string>>) {
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(args)) {
    const name = Object.hasOwn(names, key) ? (names[key] as string) : key;
    const isTaken = name !== key && (Object.hasOwn(args, name) || Object.hasOwn(renamed, name));
    Object.defineProperty(renamed, isTaken ? key : name, { value, enumerable: true, configurable: true });
  }
  return renamed;
}
