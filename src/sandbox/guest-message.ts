/** guest-message.ts -- checks the messages of a cell process, which hostile code may have taken over. */
import { depthOf, MAX_JSON_DEPTH } from "#core/command.ts";
import { type FromGuest, MAX_FILE_BYTES, type Question } from "./protocol.ts";

type Fields = Readonly<Record<string, unknown>>;
type Save = Extract<Question, { readonly what: "save" }>;
/** The outcome of `done` has not been checked: see read-outcome.ts. */
export type GuestMessage =
  | Exclude<FromGuest, { readonly type: "done" }>
  | { readonly type: "done"; readonly outcome: unknown; readonly isSpent: boolean };

const MAX_NAME_CHARS = 200;
const MAX_PATH_CHARS = 4_096;
const MAX_SAVED_FILES = 10_000;
const MAX_TASK_CHARS = 1_000_000;

/** Returns undefined for anything else than a proper message. */
export function checkMessage(value: unknown, bytes: Uint8Array): GuestMessage | undefined {
  if (!isFields(value)) return undefined;
  const { type } = value;
  if (type === "ready" || type === "loaded" || type === "ended") return { type };
  if (type === "done") return { type, outcome: value.outcome, isSpent: value.isSpent === true };
  return type === "ask" ? checkQuestion(value, bytes) : undefined;
}

function checkQuestion(asked: Fields, bytes: Uint8Array): Question | undefined {
  switch (asked.what) {
    case "call":
      return checkCall(asked);
    case "run":
      return checkRun(asked);
    case "list":
      return { type: "ask", what: "list" };
    case "read":
      return isPath(asked.path) ? { type: "ask", what: "read", path: asked.path } : undefined;
    case "save":
      return checkSave(asked, bytes);
    default:
      return undefined;
  }
}

function checkCall({ name, args }: Fields): Question | undefined {
  if (!isText(name, MAX_NAME_CHARS) || !isShallow(args)) return undefined;
  return { type: "ask", what: "call", name, args };
}

function checkRun({ task, returns, form }: Fields): Question | undefined {
  if (!isText(task, MAX_TASK_CHARS) || !isShallow(returns)) return undefined;
  if (form !== null && !isText(form, MAX_NAME_CHARS)) return undefined;
  return { type: "ask", what: "run", task, returns, form };
}

function checkSave({ files }: Fields, bytes: Uint8Array): Question | undefined {
  if (!Array.isArray(files) || files.length > MAX_SAVED_FILES || !files.every(isSavedFile)) return undefined;
  const lengths = files.map((file) => file.bytes ?? 0);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total !== bytes.byteLength || total > MAX_FILE_BYTES) return undefined;
  return { type: "ask", what: "save", files: files.map((file) => ({ path: file.path, bytes: file.bytes })) };
}

function isSavedFile(value: unknown): value is Save["files"][number] {
  return isFields(value) && isPath(value.path) && (value.bytes === null || isLength(value.bytes));
}

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isPath = (value: unknown): value is string => isText(value, MAX_PATH_CHARS) && value !== "";
const isShallow = (value: unknown): value is Fields => isFields(value) && depthOf(value) <= MAX_JSON_DEPTH;
export const isText = (value: unknown, limit = Infinity): value is string =>
  typeof value === "string" && value.length <= limit;
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
