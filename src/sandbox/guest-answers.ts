/** guest-answers.ts -- checks the messages of a cell process, which hostile code may have taken over. */
import { depthOf, MAX_JSON_DEPTH } from "#core/command.ts";
import type { CellOutcome, CellProblem, LostName, NamespaceChange, SavedNamespace } from "#core/ports/sandbox.ts";
import { clip, oneLine, wellFormed } from "#core/text.ts";
import { asRecord, isRecord, type JsonRecord } from "#util/json.ts";
import { clean } from "#util/outside-text.ts";
import {
  type FromGuest,
  MAX_FILE_BYTES,
  MAX_OUTPUT_CHARS,
  MAX_SAVED_BYTES,
  MAX_VALUE_CHARS,
  MAX_VALUE_JSON_CHARS,
  type Question,
} from "./protocol.ts";

type Named = readonly [name: string, content: string | null];
type Definition = readonly [name: string, content: string];

const MAX_NAME_CHARS = 200;
const MAX_MESSAGE_CHARS = 8_000;
const MAX_SOURCE_CHARS = 1_000;
const MAX_PRINTED_CHARS = 400;
const MAX_LOST = 1_000;
const MAX_NAMES = 20_000;
/** The process may count a little differently. */
const MAX_BYTES = 1.25 * MAX_SAVED_BYTES;
const KINDS: readonly CellProblem["kind"][] = ["syntax", "error", "timeout", "memory", "died"];

/**
 * Reads the outcome of a cell; undefined when it is malformed. Text for the model and for people is cleaned of control
 * characters and cut. The saved namespace is passed on as it is: only a process in the same cage reads it.
 */
export function readOutcome(
  given: unknown,
  version: string,
  isNested: boolean,
  durationMs: number,
): CellOutcome | undefined {
  if (!isRecord(given) || !isText(given.output) || !Array.isArray(given.lost)) return undefined;
  const saved = given.saved === null ? null : readSaved(given.saved, version);
  const change = isNested && saved !== null ? readChange(given.change) : {};
  if (saved === undefined || change === undefined) return undefined;
  const output = cleanText(given.output, MAX_OUTPUT_CHARS);
  const end = {
    output,
    isCut: given.isCut === true || given.output.length > MAX_OUTPUT_CHARS,
    saved,
    lost: given.lost.slice(0, MAX_LOST).filter(isRecord).map(readLost),
    ...change,
    durationMs,
  };
  if (given.kind === "done") return { ...end, kind: "done", value: readValue(given.value), stop: readStop(given.stop) };
  return given.kind === "failed" ? { ...end, kind: "failed", problem: readProblem(given.problem) } : undefined;
}

function readSaved(given: unknown, version: string): SavedNamespace | undefined {
  const names = readNames(given, isDefinition);
  return names && { version, ...names };
}

function readChange(given: unknown): { readonly change?: NamespaceChange } | undefined {
  if (given === undefined) return {};
  const change = readNames(given, isNamed);
  return change && { change };
}

/** `isEntry`: what each name with its content must be. */
function readNames<E extends Named>(given: unknown, isEntry: (value: unknown) => value is E) {
  if (!isRecord(given) || !isRecord(given.values) || !Array.isArray(given.definitions)) return undefined;
  const { definitions } = given;
  const entries: readonly unknown[] = Object.entries(given.values);
  if (!definitions.every(isEntry) || !entries.every(isEntry)) return undefined;
  if (definitions.length + entries.length > MAX_NAMES) return undefined;
  const named: readonly Named[] = [...definitions, ...entries];
  if (countBytes(named.filter(isDefinition)) > MAX_BYTES) return undefined;
  return { definitions, values: Object.fromEntries(entries) as Readonly<Record<string, E[1]>> };
}

const isDefinition = (value: unknown): value is Definition => isNamed(value) && value[1] !== null;
const isNamed = (value: unknown): value is Named =>
  Array.isArray(value) &&
  value.length === 2 &&
  isText(value[0], MAX_NAME_CHARS) &&
  (value[1] === null || isText(value[1]));
const countBytes = (entries: readonly Definition[]): number =>
  entries.reduce((sum, [name, content]) => sum + Buffer.byteLength(name) + Buffer.byteLength(content), 0);

function readValue(given: unknown) {
  if (!isRecord(given) || !isText(given.text)) return null;
  return { text: cleanText(given.text, MAX_VALUE_CHARS), ...("json" in given ? keepJson("json", given.json) : {}) };
}

function readStop(given: unknown) {
  if (!isRecord(given)) return null;
  return "value" in given ? keepJson("value", given.value) : {};
}

/** Leaves out a value that is too deep or too long to be kept. */
const keepJson = <K extends string>(key: K, json: unknown): { readonly [N in K]?: unknown } =>
  depthOf(json) <= MAX_JSON_DEPTH && JSON.stringify(json).length <= MAX_VALUE_JSON_CHARS
    ? ({ [key]: json } as { readonly [N in K]: unknown })
    : {};

function readProblem(given: unknown): CellProblem {
  const { kind, type, message, line, source, missingName, command } = asRecord(given);
  return {
    kind: KINDS.find((one) => one === kind) ?? "error",
    type: cleanLine(type, MAX_NAME_CHARS) || "Error",
    message: isText(message) ? cleanText(message, MAX_MESSAGE_CHARS) : "",
    line: Number.isSafeInteger(line) && (line as number) > 0 ? (line as number) : null,
    source: isText(source) ? cleanText(source, MAX_SOURCE_CHARS) : null,
    ...(isText(missingName, MAX_NAME_CHARS) ? { missingName: cleanLine(missingName, MAX_NAME_CHARS) } : {}),
    ...(isRecord(command) && isText(command.code, MAX_NAME_CHARS) && isText(command.text)
      ? { command: { code: command.code, text: cleanText(command.text, MAX_VALUE_CHARS) } }
      : {}),
  };
}

const readLost = ({ name, reason }: JsonRecord): LostName => ({
  name: cleanName(name),
  reason: cleanLine(reason, MAX_NAME_CHARS),
});
export const cleanName = (name: unknown): string => cleanLine(name, MAX_NAME_CHARS);
const cleanText = (text: string, limit: number): string => clip(clean(wellFormed(text)), limit);
const cleanLine = (text: unknown, limit: number): string =>
  isText(text) ? oneLine(clean(wellFormed(text)), limit) : "";

/** The outcome of `done` has not been checked. */
export type GuestMessage =
  | Exclude<FromGuest, { readonly type: "done" }>
  | { readonly type: "done"; readonly outcome: unknown };
const MAX_PATH_CHARS = 4_096;
const MAX_SAVED_FILES = 10_000;
const MAX_TASK_CHARS = 1_000_000;

/** Returns undefined for anything else than a proper message. */
export function checkMessage(value: unknown, bytes: Uint8Array): GuestMessage | undefined {
  if (!isRecord(value)) return undefined;
  const { type } = value;
  if (type === "ready" || type === "loaded" || type === "ended") return { type };
  if (type === "done") return { type, outcome: value.outcome };
  if (type === "printed" && isText(value.line, MAX_PRINTED_CHARS))
    return { type, line: cleanLine(value.line, MAX_PRINTED_CHARS) };
  return type === "ask" && isQuestion(value, bytes) ? value : undefined;
}

function isQuestion(asked: JsonRecord, bytes: Uint8Array): asked is JsonRecord & Question {
  switch (asked.what) {
    case "call":
      return isText(asked.name, MAX_NAME_CHARS) && isShallow(asked.args);
    case "run":
      if (asked.form !== null && !isText(asked.form, MAX_NAME_CHARS)) return false;
      return isText(asked.task, MAX_TASK_CHARS) && isShallow(asked.returns);
    case "read":
      return isPath(asked.path);
    case "save":
      return isSave(asked.files, bytes);
    default:
      return asked.what === "list";
  }
}

/** `bytes`: the contents of the files, one after the other. */
function isSave(files: unknown, bytes: Uint8Array): boolean {
  if (!Array.isArray(files) || files.length > MAX_SAVED_FILES || !files.every(isSavedFile)) return false;
  const total = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  return total === bytes.byteLength && total <= MAX_FILE_BYTES;
}

type SavedFile = Extract<Question, { readonly what: "save" }>["files"][number];
const isSavedFile = (value: unknown): value is SavedFile =>
  isRecord(value) && isPath(value.path) && (value.bytes === null || isLength(value.bytes));

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isPath = (value: unknown): value is string => isText(value, MAX_PATH_CHARS) && value !== "";
const isShallow = (value: unknown): value is JsonRecord => isRecord(value) && depthOf(value) <= MAX_JSON_DEPTH;
const isText = (value: unknown, limit = Infinity): value is string =>
  typeof value === "string" && value.length <= limit;
