/** file-versions.ts -- versions of an agent's files: lists, contents, and those that a person trusts. */
import { GoaldError } from "#core/errors.ts";
import { type FileVersion, holdsContent, type StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { countNoun } from "#core/text.ts";
import { decodeUtf8 } from "#util/media-format.ts";
import { count, described, listOf, nullable, oneOf, open, ordinal, type Static, text, time } from "#util/schema.ts";
import { FileVersionView, IsRestored, Operation } from "./parts.ts";

export const LatestFile = open({
  path: text,
  operation: Operation,
  step: count,
  bytes: count,
  at: time,
  by: described(oneOf("agent", "person"), "Who changed it last."),
  isRestored: IsRestored,
  changes: described(ordinal, "Number of changes."),
});
export type LatestFile = Static<typeof LatestFile>;

export const FileList = open({
  workspace: described(text, "Absolute path of the agent's folder."),
  files: listOf(LatestFile),
  versions: described(listOf(FileVersionView), "Every change of every file, oldest first."),
});
export type FileList = Static<typeof FileList>;

/** The last change of each file, by path. Leaves out deleted files and goald's own. */
export function latestFiles(versions: readonly FileVersion[]): readonly LatestFile[] {
  const latest = new Map<string, LatestFile>();
  for (const version of versions) {
    const { path, operation, step, bytes, at } = version;
    const changes = (latest.get(path)?.changes ?? 0) + 1;
    const by = isByPerson(version) ? "person" : "agent";
    const isRestored = isPutBack(version);
    latest.set(path, { path, operation, step, bytes, at, by, isRestored, changes });
  }
  return [...latest.values()]
    .filter(({ path, operation }) => operation !== "delete" && !path.startsWith("_goald/"))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export const FileContent = open({
  agent: text,
  path: text,
  step: described(nullable(count), "The step after which it had this content; null for the content now."),
  bytes: count,
  encoding: described(oneOf("utf8", "base64"), "`base64` for content that is not text."),
  content: text,
});
export type FileContent = Static<typeof FileContent>;

const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Loads the content of one file as it was after a step, from the history; for the step null as it is now, from the
 * folder. Throws GOALD_NOT_FOUND and GOALD_FILE_TOO_LARGE.
 */
export async function loadFileContent(
  file: { readonly agent: string; readonly path: string; readonly step: number | null },
  versions: readonly FileVersion[],
  store: Pick<StoreReader, "blob">,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<FileContent> {
  const { agent, path, step } = file;
  const own = versions.filter((version) => version.path === path);
  const content = step === null ? await readNow(path, workspace) : await restoreVersion(upToStep(own, step), store);
  if (content === null) throw notThere(file);
  if (content.length > MAX_BYTES) throw tooLarge(path, content.length);
  const of = { agent, path, step, bytes: content.length };
  const text = content.includes(0) ? undefined : decodeUtf8(content);
  if (text !== undefined) return { ...of, encoding: "utf8", content: text };
  return { ...of, encoding: "base64", content: Buffer.from(content).toString("base64") };
}

async function readNow(path: string, workspace: Pick<Workspace, "stat" | "read">): Promise<Uint8Array | null> {
  const found = await workspace.stat(path);
  if (!found) return null;
  if (found.bytes > MAX_BYTES) throw tooLarge(path, found.bytes);
  return workspace.read(path);
}

const notThere = ({ agent, path, step }: { agent: string; path: string; step: number | null }): GoaldError =>
  new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a file of ${agent}, got ${JSON.stringify(path)}, which does not exist ${step === null ? "now" : `after step ${step}`}.`,
    { hint: `See its files: goald show ${agent} --files` },
  );

const tooLarge = (path: string, bytes: number): GoaldError =>
  new GoaldError("GOALD_FILE_TOO_LARGE", `Expected a file of at most ${MAX_BYTES} bytes, got ${path} with ${bytes}.`);

/** `found`, `write` and a first append hold the whole file; a later append holds the added piece. */
type FilePiece = Pick<FileVersion, "path" | "operation" | "bytes" | "sha256">;

/**
 * Rebuilds a file's content after a change from the history (see `FileChange` in ports/store.ts). Reads only the pieces
 * since the last whole version, each once. `versions`: those of one path, oldest first, up to the requested one. Null
 * for no file. Throws GOALD_STORE_DAMAGED when pieces are missing.
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
  const own = versions.filter((version) => !version.path.startsWith("_goald/") && holdsContent(version));
  return Map.groupBy(own, ({ path }) => path);
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
  if (step > taken) throw neverTaken(step, taken, agent, `The last one: ${taken}. Before the first: 0.`);
}

export function neverTaken(step: number, taken: number, agent: string, hint: string): GoaldError {
  const problem = `Expected a step of ${agent}, got ${step}: it has taken ${countNoun(taken, "step")}.`;
  return new GoaldError("GOALD_NOT_FOUND", problem, { hint });
}

export const TrustGiven = open({
  path: described(nullable(text), "Null for all words that the agent had read by then."),
  at: time,
});
export type TrustGiven = Static<typeof TrustGiven>;

/** The newest trust in each file or folder, by path. */
export function trustedFiles(versions: readonly FileVersion[]): readonly TrustGiven[] {
  const newest = new Map(versions.map((version) => [version.path, version]));
  return [...newest.values()]
    .filter(({ operation }) => operation === "trust")
    .map(({ path, at }) => ({ path, at }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether the history has this file, this folder, or a placed folder around it. Files of a sub-agent are in its own history. */
export function describesPath(versions: readonly FileVersion[], path: string): boolean {
  if (/^agents\/[^/]+\/./.test(path)) return true;
  const newest = new Map(versions.map((version) => [version.path, version]));
  return [...newest.values()].some(
    (version) =>
      version.operation !== "delete" &&
      (isChosen(version.path, [path]) || (path.startsWith(`${version.path}/`) && version.sha256 === null)),
  );
}

/** `seq`: the event of the trust; 0 for none. */
export async function loadTrustInAll(
  agent: string,
  seq: number,
  reader: Pick<StoreReader, "read">,
): Promise<readonly TrustGiven[]> {
  const [event] = seq === 0 ? [] : await reader.read(agent, seq - 1, 1);
  return event ? [{ path: null, at: event.at }] : [];
}
