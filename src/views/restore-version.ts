/**
 * restore-version.ts -- what lay at a path after a change, made from the history alone (see `FileChange` in ports/file-version.ts).
 *
 * Only the pieces since the last whole version are read, each once.
 */
import { GoaldError } from "#core/errors.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";

/** `found`, `write` and a first append are the whole file; a later append hangs on what was there before. */
export type Piece = Pick<FileVersion, "path" | "operation" | "bytes" | "sha256">;

/**
 * `versions`: of one path, oldest first, up to the wanted one. Null for no file.
 * Throws GOALD_STORE_DAMAGED when the history does not hold it.
 */
export async function restoreVersion(
  versions: readonly Piece[],
  store: Pick<StoreReader, "blob">,
): Promise<Uint8Array | null> {
  const last = versions.at(-1);
  if (!last || last.operation === "delete") return null;
  const pieces: Uint8Array[] = [];
  let missingBytes = last.bytes;
  for (let index = versions.length - 1; index >= 0 && missingBytes >= 0; index--) {
    const version = versions[index] as Piece;
    const piece = await pieceOf(version, store);
    pieces.push(piece);
    missingBytes -= piece.length;
    const isWhole = version.operation !== "append" || version.bytes === piece.length;
    if (!isWhole) continue;
    if (missingBytes !== 0) break;
    return Buffer.concat(pieces.reverse(), last.bytes);
  }
  throw damaged(last, `${last.bytes - missingBytes} of ${last.bytes} bytes are there`);
}

async function pieceOf(version: Piece, store: Pick<StoreReader, "blob">): Promise<Uint8Array> {
  if (version.operation === "delete" || version.sha256 === null) throw damaged(version, "an append follows a deletion");
  const piece = await store.blob(version.sha256);
  if (!piece) throw damaged(version, `the blob ${version.sha256} is missing`);
  return piece;
}

const damaged = ({ path, bytes }: Piece, what: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected the version of ${JSON.stringify(path)} with ${bytes} bytes in the history, but ${what}.`,
    { hint: "See what else is missing: goald verify" },
  );

/** The changes of each path in the order they were made; goald's own folder left out. */
export function byPath<T extends Pick<FileVersion, "path">>(versions: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const paths = new Map<string, T[]>();
  for (const version of versions) {
    if (version.path.startsWith("_goald/")) continue;
    const known = paths.get(version.path);
    if (known) known.push(version);
    else paths.set(version.path, [version]);
  }
  return paths;
}

/**
 * Those up to the end of a step, as the agent left it: what a person put back after that step and before the next is not
 * part of it, so that going back to the step that stands undoes a restoration.
 */
export const upToStep = <T extends Pick<FileVersion, "step" | "operation" | "callId">>(
  versions: readonly T[],
  step: number,
): readonly T[] => versions.filter((version) => version.step < step || (version.step === step && !isPutBack(version)));

const isPutBack = ({ operation, callId }: Pick<FileVersion, "operation" | "callId">): boolean =>
  operation !== "found" && callId.startsWith(RESTORE_CALL);

/** Whether a path is one of those that were named, or lies below one; naming none means all. */
export const isChosen = (path: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.some((name) => path === name || path.startsWith(`${name}/`));

/** A person did it: edited the file, or put an earlier version back. */
export const isByPerson = ({ operation, callId }: Pick<FileVersion, "operation" | "callId">): boolean =>
  operation === "found" || callId.startsWith(RESTORE_CALL);

/** Begins the call id of what `goald restore` changes; the time follows. */
export const RESTORE_CALL = "restore/";
