/**
 * restore-version.ts -- rebuilds a file's content after a change from the history (see `FileChange` in ports/file-version.ts).
 *
 * Reads only the pieces since the last whole version, each once.
 */
import { GoaldError } from "#core/errors.ts";
import { type FileVersion, holdsContent, type StoreReader } from "#core/ports/store.ts";
import { countNoun } from "#core/text.ts";

/** `found`, `write` and a first append hold the whole file; a later append holds the added piece. */
type FilePiece = Pick<FileVersion, "path" | "operation" | "bytes" | "sha256">;

/**
 * `versions`: those of one path, oldest first, up to the requested one. Null for no file.
 * Throws GOALD_STORE_DAMAGED when pieces are missing.
 */
export async function restoreVersion(
  versions: readonly FilePiece[],
  store: Pick<StoreReader, "blob">,
): Promise<Uint8Array | null> {
  const pieced = versions.filter(holdsContent);
  const last = pieced.at(-1);
  if (!last || last.operation === "delete") return null;
  const pieces: Uint8Array[] = [];
  let missingBytes = last.bytes;
  for (let index = pieced.length - 1; index >= 0 && missingBytes >= 0; index--) {
    const version = pieced[index] as FilePiece;
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

async function pieceOf(version: FilePiece, store: Pick<StoreReader, "blob">): Promise<Uint8Array> {
  if (version.operation === "delete" || version.sha256 === null) throw damaged(version, "an append follows a deletion");
  const piece = await store.blob(version.sha256);
  if (!piece) throw damaged(version, `the blob ${version.sha256} is missing`);
  return piece;
}

const damaged = ({ path, bytes }: FilePiece, what: string): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    `Expected the version of ${JSON.stringify(path)} with ${bytes} bytes in the history, but ${what}.`,
    { hint: "See what else is missing: goald verify" },
  );

/** Groups changes by path, oldest first. Leaves out goald's own folder, and changes without content. */
export function byPath<T extends Pick<FileVersion, "path" | "operation">>(
  versions: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  const paths = new Map<string, T[]>();
  for (const version of versions) {
    if (version.path.startsWith("_goald/") || !holdsContent(version)) continue;
    const known = paths.get(version.path);
    if (known) known.push(version);
    else paths.set(version.path, [version]);
  }
  return paths;
}

/**
 * The versions up to the end of a step as the agent left it, with a person's edits since. Ends before the first file that a person
 * restored after that step, so that restoring the latest step undoes a restoration.
 */
export function upToStep<T extends Pick<FileVersion, "step" | "operation" | "callId">>(
  versions: readonly T[],
  step: number,
): readonly T[] {
  const end = versions.findIndex((version) => version.step > step || (version.step === step && isPutBack(version)));
  return end === -1 ? versions : versions.slice(0, end);
}

/** False for a folder that came as a whole, and for a deletion. */
export const holdsFileContent = ({ operation }: Pick<FileVersion, "operation">): boolean =>
  operation === "write" || operation === "append" || operation === "found";

/** Whether a restoration made this change or dropped this edit. Other edits that it found belong to the last step. */
export const isPutBack = ({ operation, callId }: Pick<FileVersion, "operation" | "callId">): boolean =>
  callId.startsWith(RESTORE_CALL) && (operation !== "found" || callId.endsWith(DROPPED));

/** Whether a path is one of `chosen` or below one; an empty list means all paths. */
export const isChosen = (path: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.some((name) => path === name || path.startsWith(`${name}/`));

/** Whether a person edited the file or restored an earlier version. */
export const isByPerson = ({ operation, callId }: Pick<FileVersion, "operation" | "callId">): boolean =>
  operation === "found" || operation === "trust" || callId.startsWith(RESTORE_CALL);

/** Prefix of the call ids of `goald restore`; the time follows, which identifies the restoration. */
export const RESTORE_CALL = "restore/";

/** End of the call id of a person's edit that a restoration to the last step replaced: the edit does not belong to that step. */
export const DROPPED = "/dropped";

/** Throws GOALD_NOT_FOUND for a step after the last one; 0 means before the first. */
export function requireTaken(step: number, taken: number, agent: string): void {
  if (step <= taken) return;
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a step of ${agent}, got ${step}: it has taken ${countNoun(taken, "step")}.`,
    {
      hint: `The last one: ${taken}. Before the first: 0.`,
    },
  );
}
