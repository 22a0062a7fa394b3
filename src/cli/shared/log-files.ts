/**
 * log-files.ts -- reads the lines of a rotated log file, the oldest first, and follows new ones.
 *
 * A reader holds the open file, not its name. After a rotation it reads the rest of the old file, then the files between,
 * then the new one. An incomplete line waits for its end.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";

/** Maximum suffix that is read; `path.3` is older than `path.1`. goald keeps fewer files. */
const MAX_ROTATED = 9;
const PIECE_BYTES = 64 * 1024;

export interface LogReader {
  /** Calls `onLine` with complete lines that were not read before. */
  read(onLine: (line: string) => void): void;
  /** Returns the text after the last newline. */
  rest(): string;
  close(): void;
}

/** Reads a missing file as soon as it exists. `rotated`: start with the rotated files. */
export function openLogReader(path: string, { rotated = true }: { readonly rotated?: boolean } = {}): LogReader {
  let open: OpenLog | undefined;
  let started = false;

  function read(onLine: (line: string) => void): void {
    for (const file of open ? newerThan(open, path) : generations(path, started || !rotated)) {
      open = moveTo(open, file, onLine);
      if (open) drain(open, onLine);
    }
    started = true;
  }

  return {
    read,
    rest: () => open?.pending.toString("utf8") ?? "",
    close: () => {
      if (open) closeSync(open.descriptor);
      open = undefined;
    },
  };
}

interface OpenLog {
  readonly descriptor: number;
  readonly inode: string;
  offset: number;
  pending: Buffer;
}

interface Generation {
  readonly path: string;
  readonly inode: string;
}

/** Returns the existing files, the oldest first. */
function generations(path: string, onlyNewest: boolean): readonly Generation[] {
  const names = onlyNewest
    ? [path]
    : [...Array.from({ length: MAX_ROTATED }, (_, at) => `${path}.${MAX_ROTATED - at}`), path];
  return names.flatMap((name) => {
    const found = statSync(name, { throwIfNoEntry: false });
    return found?.isFile() ? [{ path: name, inode: `${found.dev}/${found.ino}` }] : [];
  });
}

/** Returns the open file and all newer ones; all files when the open one was deleted. */
function newerThan({ inode }: OpenLog, path: string): readonly Generation[] {
  const all = generations(path, false);
  const at = all.findIndex((file) => file.inode === inode);
  return at < 0 ? all.slice(-1) : all.slice(at);
}

function moveTo(open: OpenLog | undefined, file: Generation, onLine: (line: string) => void): OpenLog | undefined {
  if (open?.inode === file.inode) return open;
  if (open) {
    drain(open, onLine);
    if (open.pending.length > 0) onLine(open.pending.toString("utf8"));
    closeSync(open.descriptor);
  }
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  try {
    const descriptor = openSync(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { dev, ino } = fstatSync(descriptor);
    return { descriptor, inode: `${dev}/${ino}`, offset: 0, pending: Buffer.alloc(0) };
  } catch {
    // The file was rotated between two reads. The next read finds it under its new name.
    return undefined;
  }
}

function drain(open: OpenLog, onLine: (line: string) => void): void {
  // The file was truncated, so read it from its start.
  if (fstatSync(open.descriptor).size < open.offset) {
    open.offset = 0;
    open.pending = Buffer.alloc(0);
  }
  const piece = Buffer.alloc(PIECE_BYTES);
  for (;;) {
    const bytes = readSync(open.descriptor, piece, 0, PIECE_BYTES, open.offset);
    if (bytes === 0) return;
    open.offset += bytes;
    const text = Buffer.concat([open.pending, piece.subarray(0, bytes)]);
    let start = 0;
    for (let end = text.indexOf(0x0a); end >= 0; end = text.indexOf(0x0a, start)) {
      if (end > start) onLine(text.toString("utf8", start, end));
      start = end + 1;
    }
    open.pending = text.subarray(start);
  }
}
