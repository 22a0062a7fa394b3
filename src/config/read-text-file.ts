/**
 * read-text-file.ts -- a small file that a person wrote, read with suspicion: a regular file of UTF-8 text up
 * to a limit. A pipe or device in its place is refused instead of waited for.
 */
import { constants, open } from "node:fs/promises";
import { toError } from "#core/errors.ts";

export interface TextFile {
  readonly text: string;
  /** Others than the owner can read it. */
  readonly isOpen: boolean;
}

/** undefined when there is none; throws an Error whose message is the reason, in words. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFile | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { mode, size } = await regular(file.stat());
    const buffer = new Uint8Array(maxBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > maxBytes) throw new Error(`it has ${size} bytes, more than ${maxBytes}`);
    return { text: decode(buffer.subarray(0, bytesRead)), isOpen: (mode & 0o077) !== 0 };
  } catch (thrown) {
    const error = toError(thrown);
    const code = "code" in error ? String(error.code) : "";
    if (code === "ENOENT") return undefined;
    throw new Error(REASONS[code] ?? error.message, { cause: error });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "you have no permission to read it",
  EISDIR: "it is a folder",
  ENXIO: "it is not a regular file",
  ENOTDIR: "a file is in the way",
  ELOOP: "links lead in a circle",
};

async function regular<T extends { isFile(): boolean; isDirectory(): boolean }>(found: Promise<T>): Promise<T> {
  const stats = await found;
  if (!stats.isFile()) throw new Error(stats.isDirectory() ? "it is a folder" : "it is not a regular file");
  return stats;
}

/** Without a byte order mark: it would become part of the first name. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text");
  }
}
