/**
 * find-call.ts -- finds the one command in the shapes that models write. The requested shape is `{thoughts, command:
 * {name, args}}`. Also accepted: tool calls, LangChain's action and action_input, the name as a key, arguments beside
 * the name, lists of one. Different commands in one reply are rejected, never chosen by position. Keys are compared in
 * lower case; `__proto__` is an ordinary key.
 */
import type { CommandCall } from "#core/call.ts";
import { DO_NOTHING, RUN_CODE, TASK_COMPLETE, THINK } from "#core/command.ts";
import { isRecord } from "#util/json.ts";
import { isSameJson, parseShallowJson } from "./json.ts";
import { ANSWER, NOT_NOW, parseNested } from "./json-objects.ts";

/** A command as the model wrote it, unchecked. */
export interface RawCall {
  readonly name: unknown;
  readonly args: unknown;
}
type CallShape =
  | { readonly kind: "call"; readonly call: RawCall }
  | { readonly kind: "several" }
  | { readonly kind: "none" };

/** Keys of a whole command, most specific first. */
const CALL_KEYS = ["command", "commands", "tool_calls", "tool_call", "function_call", "function", "action", "tool"];
export const NAME_KEYS = ["name", "command", "action", "tool", "function", "function_name", "tool_name", "toolname"];
/** With `either`, also those that may name one argument: they hold all arguments only when their value is an object. */
export const isArgsKey = (key: string, either = false): boolean =>
  /^(?:(?:tool|function|command|input)_?)?(?:args|arguments|parameters|params)$|^(?:action|tool)_?input$/i.test(key) ||
  (either && /^(?:input|kwargs)$/i.test(key));
/** Keys beside a name that are not arguments. */
const BESIDE = new Set(["thoughts", "thought", "command", "id", "type"]);
const MAX_LAYERS = 4;
const MAX_LIST = 20;

const NONE: CallShape = { kind: "none" };
const SEVERAL: CallShape = { kind: "several" };

/** `isName` recognises command names, for the shape `{"<name>": {…args}}`. */
export function findCall(value: unknown, isName: (name: string) => boolean, layer = 0): CallShape {
  if (layer > MAX_LAYERS) return NONE;
  if (typeof value === "string") {
    const nested = parseNested(value);
    if (nested?.kind === "twice") return SEVERAL;
    return nested ? findCall(nested.value, isName, layer + 1) : NONE;
  }
  if (Array.isArray(value)) {
    if (value.length > MAX_LIST) return SEVERAL;
    return mergeShapes(value.map((item) => findCall(item, isName, layer + 1)));
  }
  if (!isRecord(value)) return NONE;
  if (value.method === "tools/call") return findCall(value.params, isName, layer + 1);
  const record = lowerCaseKeys(value);
  if (record === null) return SEVERAL;
  const nested = findNestedCall(record, isName, layer);
  if (nested) return isCall(record, isName) ? mergeShapes([nested, findNamedCall(record) ?? NONE]) : nested;
  return findNamedCall(record) ?? findWrappedCall(record, isName, layer);
}

/** Finds a command below one of `CALL_KEYS`; null when the record itself may be the command. */
function findNestedCall(record: KeyedRecord, isName: (name: string) => boolean, layer: number): CallShape | null {
  const shapes: CallShape[] = [];
  for (const key of CALL_KEYS) {
    const value = record.get(key)?.value;
    const isText = typeof value === "string" && value.trimStart().startsWith("{");
    if (!isText && (typeof value !== "object" || value === null)) continue;
    const shape = findCall(value, isName, layer + 1);
    const found = shape.kind === "none" ? findCallByNameKey(value, isName) : shape;
    if (key === "command" && found.kind === "none") return NONE;
    shapes.push(found);
  }
  const shape = mergeShapes(shapes);
  return shape.kind === "none" ? null : addArgsBeside(shape, record);
}

/** Handles `{"command": {"name": …}, "args": {…}}`, where the arguments are beside the command. */
function addArgsBeside(shape: CallShape, record: KeyedRecord): CallShape {
  const [key, ...others] = listArgsKeys(record);
  if (shape.kind !== "call" || key === undefined || others.length > 0) return shape;
  const isBare = isRecord(shape.call.args) && Object.keys(shape.call.args).length === 0;
  return isBare ? { kind: "call", call: { name: shape.call.name, args: record.get(key)?.value } } : shape;
}

/** True when the record has both a command name and arguments of its own. */
const isCall = (record: KeyedRecord, isName: (name: string) => boolean): boolean =>
  [...record.keys()].some((key) => isArgsKey(key)) &&
  NAME_KEYS.some((key) => {
    const name = record.get(key)?.value;
    return typeof name === "string" && isName(name);
  });

function findCallByNameKey(value: unknown, isName: (name: string) => boolean): CallShape {
  if (!isRecord(value)) return NONE;
  const entries = Object.entries(value);
  const [first, ...others] = entries;
  if (!first || !entries.every(([key]) => isName(key))) return NONE;
  return others.length > 0 ? SEVERAL : { kind: "call", call: { name: first[0], args: first[1] } };
}

function findNamedCall(record: KeyedRecord): CallShape | null {
  const nameKey = NAME_KEYS.find((key) => typeof record.get(key)?.value === "string");
  if (nameKey === undefined) return null;
  const name = record.get(nameKey)?.value;
  const argsKeys = listArgsKeys(record);
  if (argsKeys.length > 0)
    return mergeShapes(argsKeys.map((key) => ({ kind: "call", call: { name, args: record.get(key)?.value } })));
  const beside = [...record].filter(([lower]) => lower !== nameKey && !BESIDE.has(lower));
  const args = Object.fromEntries(beside.map(([, { key, value }]) => [key, value]));
  return { kind: "call", call: { name, args } };
}

const listArgsKeys = (record: KeyedRecord): readonly string[] =>
  [...record].flatMap(([key, { value }]) => (isArgsKey(key, isRecord(value)) ? [key] : []));

/** Finds `{"thoughts": {…, "command": …}}`, or a whole reply below one key such as the agent's name. */
function findWrappedCall(record: KeyedRecord, isName: (name: string) => boolean, layer: number): CallShape {
  const thoughts = record.get("thoughts")?.value;
  if (isRecord(thoughts) && lowerCaseKeys(thoughts)?.has("command")) return findCall(thoughts, isName, layer + 1);
  const [only, ...others] = record.values();
  if (!only || others.length > 0 || only.key === "__proto__" || !isRecord(only.value)) return NONE;
  const isReply = ANSWER.test(only.key) || /^[A-Z]/.test(only.key) || lowerCaseKeys(only.value)?.has("thoughts");
  if (NOT_NOW.test(only.key) || !isReply) return NONE;
  return findCall(only.value, isName, layer + 1);
}

/** Returns the one call that all shapes agree on; "several" when they differ. */
function mergeShapes(shapes: readonly CallShape[]): CallShape {
  const [first, ...others] = shapes.filter((shape) => shape.kind !== "none");
  if (!first) return NONE;
  return others.every((shape) => isSameJson(shape, first)) ? first : SEVERAL;
}

/** Original key and value by lower-case key. */
type KeyedRecord = ReadonlyMap<string, { readonly key: string; readonly value: unknown }>;

/** Null when keys that differ only in case have different values. */
function lowerCaseKeys(record: Readonly<Record<string, unknown>>): KeyedRecord | null {
  const keyed = new Map<string, { readonly key: string; readonly value: unknown }>();
  for (const [key, value] of Object.entries(record)) {
    const lower = key.toLowerCase().trim();
    const earlier = keyed.get(lower);
    if (!earlier) keyed.set(lower, { key, value });
    else if (!/^thoughts?$/.test(lower) && !isSameJson(earlier.value, value)) return null;
  }
  return keyed;
}

const SHORT_NAMES: Readonly<Record<string, string>> = {
  write: "write_to_file",
  read: "read_file",
  run: RUN_CODE,
  finish: TASK_COMPLETE,
  null: DO_NOTHING,
};
/** Arguments of the commands for one file. What is read has them as aliases. */
const SHORT_ARGUMENTS: Readonly<Record<string, string>> = { path: "file", content: "text", contents: "text" };
/** Keys beside the action that are neither arguments nor content. */
const BESIDE_ACTION: readonly string[] = ["action", "args", "message", "thought", "thoughts"];

/** The thought that an action of this form consists of; empty for any other action. */
export const thoughtIn = ({ name, args }: CommandCall): string =>
  name === THINK && typeof args.thought === "string" ? args.thought : "";

/** An action as the model wrote it, as a command; undefined for a reply that is not JSON with an action. */
export function readWrittenAction(text: string): CommandCall | undefined {
  const value = parseShallowJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  const shaped = findAction(value);
  if (shaped === value || !isRecord(shaped)) return undefined;
  const { name: written, args } = shaped.command as RawCall;
  const name = resolveAction(written);
  if (typeof name !== "string") return undefined;
  const isOfFile = /^(?:write_to|append_to|read)_file$/.test(name);
  const rename = (key: string): string =>
    isOfFile && Object.hasOwn(SHORT_ARGUMENTS, key) ? (SHORT_ARGUMENTS[key] as string) : key;
  const entries = Object.entries(isRecord(args) ? args : {});
  return { name, args: Object.fromEntries(entries.map(([key, value]) => [rename(key), value])) };
}

/**
 * Gives an object with an action of the form `plan`, such as `{"action": "write_to_file", "args": {"file": "a.md",
 * "text": "…"}}`, the shape of a reply with a command. Returns anything else as it is.
 */
export function findAction(value: unknown): unknown {
  if (!isRecord(value) || !lowerCaseKeys(value)?.has("action") || Object.hasOwn(value, "command")) return value;
  const { action, args } = value;
  if (typeof action !== "string" && action !== null) return value;
  const beside = Object.entries(value).filter(
    ([key]) => !BESIDE_ACTION.includes(key) || (key === "thought" && action === THINK),
  );
  const content = beside.filter(([key]) => /^(?:contents?|thought)$/.test(key));
  const given = isRecord(args) ? { ...Object.fromEntries(content), ...args } : (args ?? Object.fromEntries(beside));
  return { command: { name: String(action), args: given } };
}

/** Actions are commands, and the short names of OpenDevin's planner stand for those that do the same. Any other value stays. */
export function resolveAction<T>(written: T): T | string {
  const name = typeof written === "string" ? written.trim().toLowerCase() : "";
  return Object.hasOwn(SHORT_NAMES, name) ? (SHORT_NAMES[name] as string) : written;
}
