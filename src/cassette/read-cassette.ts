/** read-cassette.ts -- reads a recording from its file. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import { findLineProblem } from "./check-line.ts";
import {
  type Cassette,
  type EndLine,
  type Header,
  type Line,
  RECORDING_VERSION,
  type Session,
  type SessionLine,
} from "./format.ts";

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
  const text = textOf(path);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const [first, ...rest] = whole
    .split("\n")
    .slice(0, -1)
    .map((line, at) => parse(line, at + 1, path));
  const header = first as Partial<Header> | undefined;
  if (typeof header?.recording !== "number") throw noCassette(path, "Its first line does not say that it is one.");
  if (header.recording !== RECORDING_VERSION)
    throw noCassette(path, `It has version ${header.recording}; this goald reads version ${RECORDING_VERSION}.`);
  const sessions: { start: SessionLine; lines: Line[]; end: EndLine | undefined }[] = [];
  for (const [index, line] of (rest as Line[]).entries()) {
    const problem = findLineProblem(line);
    if (problem) throw noCassette(path, `Line ${index + 2} ${problem}.`);
    if (line.type === "session") sessions.push({ start: line, lines: [], end: undefined });
    else if (line.type === "end") (sessions.at(-1) ?? strayLine(path)).end = line;
    else (sessions.at(-1) ?? strayLine(path)).lines.push(line);
  }
  return { path, header: header as Header, sessions, bytes: Buffer.byteLength(whole) };
}

function textOf(path: string): string {
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
function readRegularFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a regular file");
    if (found.size > MAX_BYTES) throw new Error(`it has ${found.size} bytes, more than ${MAX_BYTES}`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

function parse(line: string, number: number, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw noCassette(path, `Line ${number} is not JSON.`);
  }
}

const noCassette = (path: string, why: string): GoaldError =>
  new GoaldError("GOALD_REPLAY", `Expected a recording of goald in ${path}. ${why}`, {
    hint: "Make one with: goald run --record FILE",
  });

function strayLine(path: string): never {
  throw noCassette(path, "It does not begin with a session.");
}
