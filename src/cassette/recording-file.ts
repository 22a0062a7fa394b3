/**
 * recording-file.ts -- creates and continues the file of a recording, one line per write.
 *
 * A killed process loses at most the line that it was writing. Only the owner can read the file.
 */
import { closeSync, constants, existsSync, fchmodSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { type Header, headOf, type Line, ofType, RECORDING_VERSION, type Session } from "./format.ts";
import { readSessions } from "./read-cassette.ts";

export interface RecordingFile {
  readonly path: string;
  write(line: Line | Header): void;
  close(): void;
}

const PRIVATE = 0o600;

/** Throws GOALD_USAGE when the file exists. */
export function createRecordingFile(path: string, version: string): RecordingFile {
  if (existsSync(path))
    throw new GoaldError("GOALD_USAGE", `There is a file ${path} already; a new recording does not write over it.`, {
      hint: "Name another file. To go on with the agent of a recording: goald resume <agent> --record FILE",
    });
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = constants;
  const file = opened(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW);
  file.write({ recording: RECORDING_VERSION, goald: version });
  return file;
}

/** Throws GOALD_USAGE when the recording is of another agent, or misses a part of this agent's log. */
export function continueRecordingFile(path: string, row: AgentRow): RecordingFile {
  const { sessions, bytes } = readSessions(path);
  requireSameAgent(path, sessions, row);
  const { O_WRONLY, O_APPEND, O_NOFOLLOW } = constants;
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

function opened(path: string, flags: number, bytes?: number): RecordingFile {
  const file = guarded(path, () => openSync(path, flags, PRIVATE));
  let isOpen = true;
  guarded(path, () => {
    fchmodSync(file, PRIVATE);
    // Removes an incomplete line after a crash.
    if (bytes !== undefined) ftruncateSync(file, bytes);
  });
  return {
    path,
    write: (line) => {
      guarded(path, () => writeAll(file, Buffer.from(`${JSON.stringify(line)}\n`)));
    },
    close: () => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
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
