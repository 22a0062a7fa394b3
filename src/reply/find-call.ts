/**
 * shape.ts -- one command out of the many shapes that models wrap it in.
 *
 * `{thoughts, command: {name, args}}` is what was asked for; tool calls, LangChain's
 * action and action_input, the name as a key, arguments beside the name and lists of one
 * are the same in other clothes. A reply that says two different things is refused
 * here, never resolved by position. Keys are compared in lower case; an own `__proto__`
 * is a key like any other and leads nowhere.
 */
import { isRecord, isSameJson } from "./json.ts";
import { parseNested } from "./mend-object.ts";

/** A command as the model wrote it; neither name nor arguments are checked. */
export interface RawCall {
  readonly name: unknown;
  readonly args: unknown;
}
export type CallShape =
  | { readonly kind: "call"; readonly call: RawCall }
  | { readonly kind: "several" }
  | { readonly kind: "none" };

/** Keys that hold a whole command, most telling first. */
const CALL_KEYS = ["command", "commands", "tool_calls", "tool_call", "function_call", "function", "action", "tool"];
export const NAME_KEYS = ["name", "command", "action", "tool", "function", "function_name", "tool_name"];
export const ARGS_KEYS = [
  "args",
  "arguments",
  "parameters",
  "action_input",
  "tool_input",
  "input_args",
  "params",
  "command_args",
];
/** May be names of arguments; what holds an object holds them all. */
const EITHER_KEYS = ["input", "kwargs"];
/** Keys beside a name that are no arguments. */
const BESIDE = new Set(["thoughts", "thought", "command", "id", "type"]);
/** What stands below such a key is shown, not sent. */
const NOT_NOW = /(?:^|[^a-z])(?:examples?|sample|template|format|previous|earlier|last|history)(?:$|[^a-z])/i;
const MAX_LAYERS = 4;
const MAX_LIST = 20;

const NONE: CallShape = { kind: "none" };
const SEVERAL: CallShape = { kind: "several" };

/** `isName` tells whether a string names a command, for the shape `{"<name>": {…args}}`. */
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
  const record = lowerCaseKeys(value);
  if (record === null) return SEVERAL;
  const nested = findNestedCall(record, isName, layer);
  if (nested) return isCall(record, isName) ? mergeShapes([nested, findNamedCall(record) ?? NONE]) : nested;
  return findNamedCall(record) ?? findWrappedCall(record, isName, layer);
}

/** A command below one of the telling keys; null when the record must say itself. */
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

/** `{"command": {"name": …}, "args": {…}}`: the arguments stand beside the command that has none. */
function addArgsBeside(shape: CallShape, record: KeyedRecord): CallShape {
  const [key, ...others] = listArgsKeys(record);
  if (shape.kind !== "call" || key === undefined || others.length > 0) return shape;
  const isBare = isRecord(shape.call.args) && Object.keys(shape.call.args).length === 0;
  return isBare ? { kind: "call", call: { name: shape.call.name, args: record.get(key)?.value } } : shape;
}

/** A command with arguments, and not only the name of something, stands beside what is nested. */
const isCall = (record: KeyedRecord, isName: (name: string) => boolean): boolean =>
  ARGS_KEYS.some((key) => record.has(key)) &&
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

const listArgsKeys = (record: KeyedRecord): readonly string[] => [
  ...ARGS_KEYS.filter((key) => record.has(key)),
  ...EITHER_KEYS.filter((key) => isRecord(record.get(key)?.value)),
];

/** `{"thoughts": {…, "command": …}}`, or the whole reply below one key such as the agent's name. */
function findWrappedCall(record: KeyedRecord, isName: (name: string) => boolean, layer: number): CallShape {
  const thoughts = record.get("thoughts")?.value;
  if (isRecord(thoughts) && lowerCaseKeys(thoughts)?.has("command")) return findCall(thoughts, isName, layer + 1);
  const [only, ...others] = record.values();
  if (!only || others.length > 0 || only.key === "__proto__" || !isRecord(only.value)) return NONE;
  if (NOT_NOW.test(only.key)) return NONE;
  return findCall(only.value, isName, layer + 1);
}

/** What all of them say, if they say one thing. */
function mergeShapes(shapes: readonly CallShape[]): CallShape {
  const [first, ...others] = shapes.filter((shape) => shape.kind !== "none");
  if (!first) return NONE;
  return others.every((shape) => isSameJson(shape, first)) ? first : SEVERAL;
}

/** A record by lower-case key, with each key as it was written. */
type KeyedRecord = ReadonlyMap<string, { readonly key: string; readonly value: unknown }>;

/** Null when two keys differ in case only and say different things. */
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
