/**
 * column-file.ts -- writes the state of an index to a file, and reads it.
 *
 * The file has the columns one after the other, little-endian as in main memory, then the manifest in JSON, its length, and its
 * digest. The manifest has the digest of the columns, so a file that is torn, damaged or changed is never used. The file is not
 * synced, because such a file is all that a power cut leaves. Reading and writing go in slices, so that other work runs in between.
 */
import { createHash, hash } from "node:crypto";
import { constants, type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createTurns } from "#util/turns.ts";
import {
  type ArrayName,
  bytesPerNumber,
  type ColumnValues,
  createArray,
  type IndexState,
  type NamedArray,
  type NumberArray,
  typeOf,
} from "./columns.ts";

/** Bytes that are hashed without a pause: less than a millisecond. */
const SLICE_BYTES = 512 * 1024;
const ZEROS = Buffer.alloc(4_096);
const LENGTH_BYTES = 4;
const DIGEST_BYTES = 32;
const TAIL_BYTES = LENGTH_BYTES + DIGEST_BYTES;
const MAX_MANIFEST_BYTES = 1_000_000;

/** Fields that must be equal before a file is used; JSON. */
export type FileIdentity = Readonly<Record<string, string | number>>;

interface Manifest {
  readonly identity: FileIdentity;
  /** In the order of the file. The array gets room for `capacity` numbers; those from `length` on are 0 and not in the file. */
  readonly columns: readonly {
    readonly name: string;
    readonly type: ArrayName;
    readonly length: number;
    readonly capacity: number;
  }[];
  readonly values: ColumnValues;
  readonly sha256: string;
}

let written = 0;

/** Replaces the file. The state must not change meanwhile. Rejects when the file cannot be written; the old one remains. */
export async function writeColumns(path: string, identity: FileIdentity, state: IndexState): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.${++written}.tmp`;
  try {
    await using file = await open(temporary, "wx", 0o600);
    await writeState(file, identity, state);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeState(file: FileHandle, identity: FileIdentity, { arrays, values }: IndexState): Promise<void> {
  const digest = createHash("sha256");
  const columns: Manifest["columns"][number][] = [];
  const takeTurn = createTurns();
  for (const { name, array } of arrays) {
    await takeTurn();
    const length = usedLength(array);
    columns.push({ name, type: typeOf(array), length, capacity: array.length });
    for (const slice of slicesOf(array, length)) {
      digest.update(slice);
      await file.writeFile(slice);
    }
  }
  const manifest: Manifest = { identity, columns, values, sha256: digest.digest("hex") };
  const text = Buffer.from(JSON.stringify(manifest));
  const tail = Buffer.alloc(LENGTH_BYTES);
  tail.writeUInt32LE(text.length);
  await file.writeFile(Buffer.concat([text, tail, hash("sha256", text, "buffer")]));
}

/** Returns undefined when there is no file or `isRight` refuses its identity. Rejects for a file that is damaged. */
export async function readColumns(
  path: string,
  isRight: (identity: FileIdentity) => Promise<boolean>,
): Promise<IndexState | undefined> {
  await using file = await openFile(path);
  if (!file) return undefined;
  const found = await file.stat();
  if (!found.isFile()) throw new Error("it is not a regular file");
  const { manifest, end } = await readManifest(file, found.size);
  if (!(await isRight(manifest.identity))) return undefined;
  const digest = createHash("sha256");
  const arrays: NamedArray[] = [];
  let position = 0;
  for (const { name, type, length, capacity } of manifest.columns) {
    if (position + length * bytesPerNumber(type) > end) throw new Error("its columns do not fit");
    const array = createArray(type, capacity);
    for (const slice of slicesOf(array, length)) {
      await readFully(file, slice, position);
      digest.update(slice);
      position += slice.length;
    }
    arrays.push({ name, array });
  }
  if (position !== end || digest.digest("hex") !== manifest.sha256) throw new Error("its columns are damaged");
  return { arrays, values: manifest.values };
}

async function readManifest(file: FileHandle, size: number): Promise<{ manifest: Manifest; end: number }> {
  if (size < TAIL_BYTES) throw new Error("it is too short");
  const tail = Buffer.alloc(TAIL_BYTES);
  await readFully(file, tail, size - TAIL_BYTES);
  const length = tail.readUInt32LE();
  const end = size - TAIL_BYTES - length;
  if (end < 0 || length > MAX_MANIFEST_BYTES) throw new Error("it has no manifest");
  const text = Buffer.alloc(length);
  await readFully(file, text, end);
  if (!hash("sha256", text, "buffer").equals(tail.subarray(LENGTH_BYTES))) throw new Error("its manifest is damaged");
  return { manifest: JSON.parse(text.toString()) as Manifest, end };
}

async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    // Does not wait for a pipe.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
}

async function readFully(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) throw new Error("it is too short");
    done += bytesRead;
  }
}

/** Returns the number of elements without the zeros at the end, which are unused capacity. */
function usedLength(array: NumberArray): number {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let end = bytes.length;
  for (let from = end; end > 0; end = from) {
    from = Math.max(0, end - ZEROS.length);
    if (Buffer.compare(bytes.subarray(from, end), ZEROS.subarray(0, end - from)) !== 0) break;
  }
  while (end > 0 && bytes[end - 1] === 0) end--;
  return Math.ceil(end / array.BYTES_PER_ELEMENT);
}

function* slicesOf(array: NumberArray, length: number): Generator<Uint8Array> {
  const bytes = length * array.BYTES_PER_ELEMENT;
  for (let from = 0; from < bytes; from += SLICE_BYTES)
    yield new Uint8Array(array.buffer, array.byteOffset + from, Math.min(SLICE_BYTES, bytes - from));
}
