/** file-content.ts -- reads ranges of a plain file, and appends to one all or nothing. */
import { hash } from "node:crypto";
import { constants as flags } from "node:fs";
import { unlink } from "node:fs/promises";
import { basename } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { fileError } from "./file-errors.ts";
import type { OpenFile } from "./open-file.ts";
import { quotePath } from "./path-rules.ts";
import { refuseNewRepository } from "./refuse-repository.ts";
import { type FilePlace, openFile } from "./resolve-path.ts";

/** Limit of what `read` and `preserve` load into memory. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

/** Returns fewer bytes than asked when the file ends. Throws GOALD_FILE_TOO_LARGE above `MAX_READ_BYTES`. */
export async function readRange(
  opened: OpenFile,
  path: string,
  range?: { readonly offset: number; readonly length: number },
): Promise<Uint8Array> {
  const { size } = opened.stat();
  const offset = Math.max(0, range?.offset ?? 0);
  const length = Math.max(0, Math.min(range?.length ?? size, size - offset));
  if (length > MAX_READ_BYTES)
    throw new GoaldError(
      "GOALD_FILE_TOO_LARGE",
      `${quotePath(path)} has ${size} bytes; goald reads at most ${MAX_READ_BYTES} at once, also to keep an old version.`,
      { hint: "Read it in parts, or leave it as it is and write a new file." },
    );
  const bytes = new Uint8Array(length);
  return bytes.subarray(0, await opened.read(bytes, offset));
}

/** Returns the new size. Undoes a write that fails midway. */
export async function appendWhole(place: FilePlace, bytes: Uint8Array): Promise<number> {
  const create = place.found ? 0 : flags.O_CREAT | flags.O_EXCL;
  if (!place.found) refuseNewRepository(place.folder, basename(place.path), place.path);
  await using opened = await openFile(place, flags.O_WRONLY | flags.O_APPEND | create);
  const { size } = opened.stat();
  try {
    await opened.write(bytes);
    await opened.sync();
  } catch (error) {
    await opened.truncate(size);
    if (!place.found) await unlink(place.file);
    throw error;
  }
  if (!place.found) await place.folder.sync();
  return size + bytes.length;
}

/** Throws GOALD_FILE for a larger size than the file has. */
export async function truncateFile(opened: OpenFile, path: string, bytes: number): Promise<void> {
  const { size } = opened.stat();
  if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > size)
    throw fileError(`${quotePath(path)} has ${size} bytes and cannot be cut to ${bytes}.`, "Name a smaller size.");
  await opened.truncate(bytes);
  await opened.sync();
}

export const sha256Of = (content: Uint8Array): string => hash("sha256", content, "hex");

export const encodeContent = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
