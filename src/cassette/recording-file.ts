/**
 * recording-file.ts -- creates and continues the file of a recording, one line per write. A killed process loses at
 * most the line that it was writing. Only the owner can read the file.
 */
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import type { ValidateFunction } from "ajv";
import { GoaldError, orUndefined } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { parseJson } from "#util/json.ts";
import { createAjv } from "#util/schema.ts";
import {
  type Cassette,
  type EndLine,
  type Header,
  headOf,
  LINE_SCHEMAS,
  type Line,
  MAX_TIME,
  ofType,
  RECORDING_VERSION,
  type Session,
  type SessionLine,
} from "./format.ts";

export type RecordingFile = ReturnType<typeof opened>;

const PRIVATE = 0o600;
const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = constants;

/** Returns false for a file that a request with this key created. Throws GOALD_USAGE for another one that exists. */
export function createRecordingFile(path: string, version: string, key?: string): boolean {
  if (key !== undefined && orUndefined(() => readSessions(path).key) === key) return false;
  if (existsSync(path))
    throw new GoaldError("GOALD_USAGE", `There is a file ${path} already; a new recording does not write over it.`, {
      hint: "Name another file. To go on with the agent of a recording: goald resume <agent> --record FILE",
    });
  const file = opened(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW);
  file.write({ recording: RECORDING_VERSION, goald: version, key });
  file.close();
  return true;
}

/** Throws GOALD_USAGE when the recording is of another agent, or misses a part of this agent's log. */
export function continueRecordingFile(path: string, row: AgentRow): RecordingFile {
  const { sessions, bytes } = readSessions(path);
  requireSameAgent(path, sessions, row);
  return opened(path, O_WRONLY | O_APPEND | O_NOFOLLOW, bytes);
}

function requireSameAgent(path: string, sessions: readonly Session[], { id, createdAt, head }: AgentRow): void {
  const usage = (message: string): GoaldError =>
    new GoaldError("GOALD_USAGE", message, {
      hint: "Go on without --record, or record an agent from its beginning: goald run --record FILE",
    });
  const agent = sessions[0]?.start.agent;
  if (agent && (agent.id !== id || agent.createdAt !== createdAt))
    throw usage(`${path} is a recording of ${agent.id}, made at ${agent.createdAt}, and not of this ${id}.`);
  const last = sessions.at(-1);
  const recorded = last ? headOf(last) : CREATED;
  const commit = last && ofType(last, "commit").at(-1);
  // After a crash, the last commit may be durable although its `committed` line is missing.
  if (head === recorded || (commit && head === commit.after + commit.events.length)) return;
  throw usage(`${path} ends at event ${recorded} of ${id}, and its log at ${head}: it went on without being recorded.`);
}

/** The number of the event that creates an agent. */
const CREATED = 1;

function opened(path: string, flags: number, bytes?: number) {
  const file = guarded(path, () => openSync(path, flags, PRIVATE));
  let isOpen = true;
  guarded(path, () => {
    fchmodSync(file, PRIVATE);
    // Removes an incomplete line after a crash.
    if (bytes !== undefined) ftruncateSync(file, bytes);
  });
  return {
    path,
    write: (line: Line | Header): void => {
      guarded(path, () => writeFileSync(file, Buffer.from(`${JSON.stringify(line)}\n`)));
    },
    close: (): void => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new GoaldError("GOALD_FILE", `The recording ${path} cannot be written: ${(cause as Error).message}.`, {
      hint: "Name a file in a folder that is there and that you may write to, on a disk with room.",
      cause,
    });
  }
}

/** A file is read as a whole, and its lines take several times its size. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Throws GOALD_FILE_MISSING, GOALD_FILE and GOALD_REPLAY. Skips an incomplete last line after a crash. */
export function readCassette(path: string): Cassette {
  const { sessions, ...rest } = readSessions(path);
  const [first, ...more] = sessions;
  if (!first) throw noCassette(path, "Nothing was recorded in it.");
  return { ...rest, sessions: [first, ...more] };
}

/** Works as `readCassette`, and also accepts a file without sessions. */
export function readSessions(path: string): Omit<Cassette, "sessions"> & { readonly sessions: readonly Session[] } {
  const content = contentOf(path);
  const bytes = content.lastIndexOf("\n") + 1;
  const [first, ...rest] = content
    .toString("utf8", 0, bytes)
    .split("\n")
    .slice(0, -1)
    .map((line, at) => {
      const value = parseJson(line);
      if (value === undefined) throw noCassette(path, `Line ${at + 1} is not JSON.`);
      return value;
    });
  const header = first as Partial<Header> | undefined;
  if (typeof header?.recording !== "number") throw noCassette(path, "Its first line does not say that it is one.");
  if (header.recording !== RECORDING_VERSION)
    throw noCassette(path, `It has version ${header.recording}; this goald reads version ${RECORDING_VERSION}.`);
  const sessions: { start: SessionLine; lines: Line[]; end: EndLine | undefined }[] = [];
  for (const [index, line] of (rest as Line[]).entries()) {
    const problem = findLineProblem(line);
    if (problem) throw noCassette(path, `Line ${index + 2} ${problem}.`);
    const session = sessions.at(-1);
    if (line.type === "session") sessions.push({ start: line, lines: [], end: undefined });
    else if (!session) throw noCassette(path, "It does not begin with a session.");
    else if (line.type === "end") session.end = line;
    else session.lines.push(line);
  }
  return { path, key: header.key, sessions, bytes };
}

function contentOf(path: string): Buffer {
  try {
    return readRegularFile(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const hint = "Make one with: goald run --record FILE";
    if (code === "ENOENT")
      throw new GoaldError("GOALD_FILE_MISSING", `There is no recording ${path}.`, { hint, cause });
    throw new GoaldError("GOALD_FILE", `The recording ${path} cannot be read: ${message}.`, { hint, cause });
  }
}

/** Never waits for a pipe or a device. */
function readRegularFile(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a regular file");
    if (found.size > MAX_BYTES) throw new Error(`it has ${found.size} bytes, more than ${MAX_BYTES}`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

const noCassette = (path: string, why: string): GoaldError =>
  new GoaldError("GOALD_REPLAY", `Expected a recording of goald in ${path}. ${why}`, {
    hint: "Make one with: goald run --record FILE",
  });

let validators: Readonly<Record<string, ValidateFunction>> | undefined;

function compile(): Readonly<Record<string, ValidateFunction>> {
  const ajv = createAjv({ strict: false });
  return Object.fromEntries(Object.entries(LINE_SCHEMAS).map(([type, schema]) => [type, ajv.compile(schema)]));
}

/** Returns what is wrong with a line, as the end of a sentence; undefined for a valid line. */
export function findLineProblem(line: unknown): string | undefined {
  validators ??= compile();
  const { type } = (line ?? {}) as { readonly type?: unknown };
  const validate = typeof type === "string" && Object.hasOwn(validators, type) ? validators[type] : undefined;
  if (!validate) return "has no type that goald knows";
  if (validate(line)) return isInTime(line as Line) ? undefined : "has a time out of range";
  const [error] = validate.errors ?? [];
  return `is a line of type ${type} whose ${error?.instancePath.slice(1) || "content"} ${error?.message}`;
}

/** The first time is since 1970, the others are differences. */
function isInTime(line: Line): boolean {
  if (!("clock" in line)) return true;
  let at = 0;
  return line.clock.every((step) => {
    at += step;
    return Math.abs(at) <= MAX_TIME;
  });
}
