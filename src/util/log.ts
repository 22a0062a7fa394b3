/**
 * log.ts -- writes the process log: one JSON object per line in <home>/.goald/log/goald.log, mode 0600. The log records
 * what the process did; the store records what agents did. Each line is cleaned and redacted as a whole after pino has
 * made it, so that fields, error messages and stacks are covered. A line is written to the system before the call
 * returns, so kill -9 loses none. A failing log never stops an agent: lines are lost, with one report.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Level, LogFn, Logger } from "pino";
import { codeOf, orUndefined, toError } from "#core/errors.ts";
import { clean } from "./outside-text.ts";
import type { Redact } from "./redact.ts";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

export interface LogOptions {
  readonly folder: string;
  readonly redact: Redact;
  readonly level: Level | "silent";
  /** Called once with a sentence when the first line is lost. */
  readonly onProblem?: (problem: string) => void;
  /** A larger file is rotated. */
  readonly maxBytes?: number;
}

/** In the order of pino. */
const LEVELS: readonly LogOptions["level"][] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];
const FILE_NAME = "goald.log";
const MAX_BYTES = 10 * 1024 * 1024;
/** goald.log.1, the newest, to goald.log.3. */
const KEPT_FILES = 3;
const NEWLINE = 0x0a;

/** Never rejects. The first line that is written loads pino. */
export async function openLog(options: LogOptions): Promise<Log> {
  await mkdir(options.folder, { mode: 0o700 }).catch(() => undefined);
  let logger: Log | undefined;
  const writeAt =
    (level: keyof Log): LogFn =>
    (...line: unknown[]) => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(options.level)) return;
      logger ??= createLogger(options);
      logger[level](...(line as [string]));
    };
  return { debug: writeAt("debug"), info: writeAt("info"), warn: writeAt("warn"), error: writeAt("error") };
}

function createLogger({ folder, redact, level, onProblem, maxBytes = MAX_BYTES }: LogOptions): Log {
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const path = join(folder, FILE_NAME);
  let isReported = false;
  const lost = (thrown: unknown): void => {
    if (!isReported) onProblem?.(problemWith(path, thrown));
    isReported = true;
  };
  const append = openLogFile(path, maxBytes, lost);
  const logMethod = function (this: Log, args: unknown[], method: (...given: unknown[]) => void): void {
    try {
      method.apply(this, args);
    } catch (thrown) {
      // A value of the record throws when it is read.
      lost(thrown);
    }
  };
  const settings = {
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    base: { pid: process.pid },
    hooks: { logMethod },
  };
  return pino(settings, { write: (line: string) => append(scrub(line, redact)) });
}

function problemWith(path: string, thrown: unknown): string {
  const error = toError(thrown);
  const isLink = codeOf(error) === "ELOOP";
  const reason = isLink ? "it is a link, and could lead to any file. Remove the link" : error.message;
  return `Lines of the log ${path} are lost: ${reason}. Agents go on without them.`;
}

/** Cleans before redacting, because an escape sequence inside a secret would hide it. */
function scrub(line: string, redact: Redact): string {
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  return `${redact(clean(CONTROL_IN_JSON.test(text) ? cleanStrings(text) : text))}\n`;
}

/**
 * JSON escapes most control characters, and they act again when a program prints the value. The others are raw, and
 * cleaning the whole line could remove its end with them. So each string is cleaned on its own.
 */
const CONTROL_IN_JSON = /\\(?:u00[01][0-9a-f]|[bfr])|[\u007f-\u009f]/i;

const cleanStrings = (text: string): string => orUndefined(() => JSON.stringify(JSON.parse(text, cleanValue))) ?? text;

function cleanValue(_name: string, value: unknown): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), inner]));
}

function openLogFile(path: string, maxBytes: number, lost: (thrown: unknown) => void): (line: string) => void {
  let file: OpenLogFile | undefined;
  let mayRotate = true;

  /** Returns the file that has the name now, rotated when it is full. */
  function openCurrent(): OpenLogFile {
    file ??= openToAppend(path);
    const bytes = sizeUnderName(path, file);
    if (bytes !== undefined && (bytes <= maxBytes || !mayRotate)) return file;
    closeSync(file.descriptor);
    file = undefined;
    if (bytes !== undefined)
      try {
        rotate(path);
      } catch (thrown) {
        // Another process has rotated it.
        mayRotate = codeOf(thrown) === "ENOENT";
        if (!mayRotate) lost(thrown);
      }
    file = openToAppend(path);
    return file;
  }

  return (line) => {
    try {
      const open = openCurrent();
      const bytes = Buffer.from(open.isTorn ? `\n${line}` : line);
      open.isTorn = writeSync(open.descriptor, bytes) < bytes.length;
    } catch (thrown) {
      lost(thrown);
    }
  };
}

interface OpenLogFile {
  readonly descriptor: number;
  readonly dev: number;
  readonly ino: number;
  /** The disk became full inside the last line, so the next write begins with a new line. */
  isTorn: boolean;
}

/** Returns undefined when the file was rotated or removed and no longer has this name. */
function sizeUnderName(path: string, { dev, ino }: OpenLogFile): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.dev === dev && found.ino === ino ? found.size : undefined;
}

/** Throws for a link, which could make the log append to any file of this user. */
function openToAppend(path: string): OpenLogFile {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
  const descriptor = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const { mode, size, dev, ino } = fstatSync(descriptor);
    if ((mode & 0o077) !== 0) fchmodSync(descriptor, 0o600);
    const last = new Uint8Array(1);
    const isTorn = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
    return { descriptor, dev, ino, isTorn };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

/** Overwrites the oldest file. Throws only when the log itself cannot be renamed. */
function rotate(path: string): void {
  for (let number = KEPT_FILES - 1; number >= 1; number--) {
    try {
      renameSync(`${path}.${number}`, `${path}.${number + 1}`);
    } catch {
      // There is no such file yet.
    }
  }
  renameSync(path, `${path}.1`);
}
