/**
 * snapshots.ts -- saves the word index of a memory to a file of its folder, and restores it at the next start. A
 * snapshot is a cache. It is used only if the same code and settings wrote it and the memory in the store has come from
 * the state that it was made of; the rows changed since are then read. It has the words of all rows, so a memory whose
 * row a person has forgotten is never saved, and its snapshot is deleted.
 */
import { createHash, hash } from "node:crypto";
import { constants, type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { endianness } from "node:os";
import { basename, dirname, join } from "node:path";
import { codeOf, toError } from "#core/errors.ts";
import type { Store } from "#core/ports/store.ts";
import { createTurns } from "#util/turns.ts";
import { stemOf, wordsOf } from "#util/words.ts";
import {
  ARRAYS,
  type ArrayName,
  type ColumnValues,
  collectState,
  type IndexState,
  type NamedArray,
  type NumberArray,
  restoreState,
  typeOf,
} from "../columns.ts";
import { LEXICAL_SETTINGS } from "../words/word-index.ts";
import { type AgentRows, memoryPages } from "./agent-rows.ts";

/** Increase it with every change of the columns, of their content or of the way in which texts become words. */
const FORMAT = 3;
export const SNAPSHOT_FILE = "words.snapshot";

const LEAST_ROWS = 2_048;
/** A snapshot is due when this share of the rows has changed; when the memory leaves main memory, this smaller share. */
const CHANGED_SHARE = 1 / 8;
const CHANGED_SHARE_AT_END = 1 / 32;
/** With a larger share of removed rows the memory is better read anew, which leaves them out. */
const MOST_REMOVED_SHARE = 1 / 4;

export interface SnapshotParts {
  readonly folderOf: (namespace: string) => string;
  readonly store: Pick<Store, "memories" | "memoryVersion">;
  /** Called when a snapshot is not used or cannot be written. */
  readonly note: (text: string) => void;
  /** False: snapshots are only read. */
  readonly isWriter: boolean;
  /** Smaller memories are not saved. Default: 2,048, which are read again in less than 0.2 s of CPU. */
  readonly leastRows?: number;
}

type SavedIndex = Pick<
  AgentRows,
  "namespace" | "size" | "removedSize" | "lastChange" | "changesRead" | "hasErased" | "exchange"
>;

export class IndexSnapshots {
  readonly #parts: SnapshotParts;
  readonly #digest = digestOf(LEXICAL_SETTINGS);
  /** Memories whose file has words that a person has forgotten. It is not used, even when it cannot be deleted. */
  readonly #erased = new Set<string>();
  /** `changesRead` at the last snapshot. */
  readonly #savedAt = new WeakMap<SavedIndex, number>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  /** Returns an index in the saved state, or as `create` returns it when no snapshot can be used. */
  async open<Index extends SavedIndex>(namespace: string, create: () => Index): Promise<Index> {
    const path = this.#pathOf(namespace);
    if (this.#erased.has(namespace)) return create();
    try {
      const state = await readColumns(path, (identity) => this.#isUsable(namespace, identity));
      if (this.#parts.isWriter) await removeTemporary(path);
      const index = create();
      if (state) restoreState(index, state);
      return index;
    } catch (error) {
      this.#parts.note(`The memory index ${path} is not used: ${toError(error).message}.`);
      return create();
    }
  }

  /**
   * Saves an index when much of it is not in its snapshot. It must not change meanwhile, but by `prepare`, which is called before
   * it is saved. `isLeaving`: it is dropped afterwards.
   */
  async saveIfDue(
    index: SavedIndex,
    isLeaving: boolean,
    prepare = async (): Promise<void> => undefined,
  ): Promise<void> {
    if (!this.#isDue(index, isLeaving)) return;
    const { namespace, lastChange } = index;
    this.#savedAt.set(index, index.changesRead);
    try {
      if (index.removedSize > MOST_REMOVED_SHARE * index.size) return await this.#remove(namespace);
      await prepare();
      const version = await this.#parts.store.memoryVersion(namespace);
      const identity = { ...this.#identityOf(namespace), ...version, change: lastChange, rows: index.size };
      await writeColumns(this.#pathOf(namespace), identity, collectState(index));
      this.#erased.delete(namespace);
      // The folder may have been removed before the file got its name.
      if (await this.#hasErasedAfter(namespace, lastChange)) await this.#remove(namespace);
    } catch (error) {
      this.#parts.note(`The memory index of ${namespace} cannot be saved: ${toError(error).message}.`);
    }
  }

  /** Call it when an index that was opened has words that a person has forgotten. */
  async discard(namespace: string): Promise<void> {
    this.#erased.add(namespace);
    try {
      await this.#remove(namespace);
    } catch (error) {
      this.#parts.note(`The memory index of ${namespace} cannot be deleted: ${toError(error).message}.`);
    }
  }

  async #remove(namespace: string): Promise<void> {
    if (this.#parts.isWriter) await rm(this.#pathOf(namespace), { force: true });
  }

  #isDue(index: SavedIndex, isLeaving: boolean): boolean {
    const changed = index.changesRead - (this.#savedAt.get(index) ?? 0);
    const share = isLeaving ? CHANGED_SHARE_AT_END : CHANGED_SHARE;
    const { isWriter, leastRows = LEAST_ROWS } = this.#parts;
    return isWriter && !index.hasErased && index.size >= leastRows && changed > share * index.size;
  }

  #pathOf(namespace: string): string {
    return join(this.#parts.folderOf(namespace), SNAPSHOT_FILE);
  }

  #identityOf(namespace: string) {
    return { format: FORMAT, digest: this.#digest, namespace };
  }

  async #isUsable(namespace: string, identity: FileIdentity): Promise<boolean> {
    const wanted: FileIdentity = this.#identityOf(namespace);
    const isOurs = Object.entries(wanted).every(([name, value]) => identity[name] === value);
    const at = { seq: Number(identity.seq), curation: Number(identity.curation) };
    const isUsable = isOurs && (await this.#parts.store.memoryVersion(namespace, at)).sha === identity.sha;
    const made = isOurs ? "from another state of the store" : "by another version of goald";
    if (!isUsable) this.#parts.note(`The memory index of ${namespace} is made again: its file was made ${made}.`);
    return isUsable;
  }

  /** Whether a person has forgotten a row after this change. */
  async #hasErasedAfter(namespace: string, change: number): Promise<boolean> {
    for await (const page of memoryPages(this.#parts.store, namespace, change))
      if (page.some(({ forgotten }) => forgotten === "person")) return true;
    return false;
  }
}

/** Text of each kind of writing, whose words depend on the Unicode version. */
const PROBE = "readFile decisions planned Straße ﬁn Ünïcode 日本語 한국어 Ελλάδα ΌΣΟΣ İzmir ½ 12.5 ﷺ 𝒳 ꟊ";

function digestOf(settings: object): string {
  const words = wordsOf(PROBE);
  const { unicode = "", icu = "" } = process.versions;
  return hash("sha256", JSON.stringify([settings, words, words.map(stemOf), unicode, icu, endianness()]));
}

/** Deletes what crashed writers left. */
async function removeTemporary(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(`${basename(path)}.`)) await rm(join(folder, name), { force: true });
}

/** Bytes that are hashed without a pause: less than a millisecond. */
const SLICE_BYTES = 512 * 1024;
const ZEROS = Buffer.alloc(4_096);
const LENGTH_BYTES = 4;
const DIGEST_BYTES = 32;
const TAIL_BYTES = LENGTH_BYTES + DIGEST_BYTES;
const MAX_MANIFEST_BYTES = 1_000_000;

/** Fields that must be equal before a file is used; JSON. */
type FileIdentity = Readonly<Record<string, string | number>>;

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

/**
 * Writes the state of an index to a file, which replaces the old one. The state must not change meanwhile. Rejects when
 * the file cannot be written; the old one remains.
 *
 * The file has the columns one after the other, little-endian as in main memory, then the manifest in JSON, its length,
 * and its digest. The manifest has the digest of the columns, so a file that is torn, damaged or changed is never used.
 * The file is not synced, because such a file is all that a power cut leaves. Reading and writing go in slices, so that
 * other work runs in between.
 */
async function writeColumns(path: string, identity: FileIdentity, state: IndexState): Promise<void> {
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
async function readColumns(
  path: string,
  isRight: (identity: FileIdentity) => Promise<boolean>,
): Promise<IndexState | undefined> {
  // Does not wait for a pipe.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    return undefined;
  });
  if (!file) return undefined;
  const found = await file.stat();
  if (!found.isFile()) throw new Error("it is not a regular file");
  const { manifest, end } = await readManifest(file, found.size);
  if (!(await isRight(manifest.identity))) return undefined;
  const digest = createHash("sha256");
  const arrays: NamedArray[] = [];
  let position = 0;
  for (const { name, type, length, capacity } of manifest.columns) {
    if (position + length * ARRAYS[type].BYTES_PER_ELEMENT > end) throw new Error("its columns do not fit");
    const array = new ARRAYS[type](capacity);
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
