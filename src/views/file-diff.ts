/** file-diff.ts -- unified diffs: of an agent's files between the ends of two steps, and of what a call would change. */
import { hash } from "node:crypto";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { CommandCall } from "#core/call.ts";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { decodeUtf8, isBinary } from "#util/media-format.ts";
import { replaceText } from "#util/replace-text.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { byPath, isChosen, isPutBack, requireTaken, restoreVersion, upToStep } from "./file-versions.ts";
import { patchMembers } from "./parts.ts";
import { stateOf } from "./read-agent.ts";
import type { CallChange } from "./waiting.ts";

export const FileDiff = open({
  path: text,
  change: oneOf("added", "removed", "changed"),
  fromBytes: count,
  toBytes: count,
  ...patchMembers,
  editedByPerson: described(listOf(count), "Steps in which a person's edit was found; the diff includes it."),
});
export type FileDiff = Static<typeof FileDiff>;

interface DiffRange extends Pick<DiffRequest, "paths"> {
  /** Steps; the files at their ends are compared. Infinity in `to` means now. */
  readonly from: number;
  readonly to: number;
}

/** Sorted by path. Leaves out files that are equal at both ends. */
export async function diffFiles(
  versions: readonly FileVersion[],
  { from, to, paths }: DiffRange,
  store: Pick<StoreReader, "blob">,
): Promise<readonly FileDiff[]> {
  const diffs: FileDiff[] = [];
  const labels = [`step ${from}`, Number.isFinite(to) ? `step ${to}` : "now"] as const;
  for (const [path, changes] of byPath(versions)) {
    if (!isChosen(path, paths)) continue;
    const [before, after] = [upToStep(changes, from), upToStep(changes, to)];
    if (before.length === after.length) continue;
    const [old, now] = [await restoreVersion(before, store), await restoreVersion(after, store)];
    if (isSame(old, now)) continue;
    const seen = await withoutCopies(after, store);
    const edits = seen.filter((version) => !before.includes(version) && version.operation === "found");
    const editedByPerson = [...new Set(edits.map(({ step }) => step))];
    diffs.push({ path, ...compareContents(path, old, now, labels), editedByPerson });
  }
  return diffs.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The last step in which the agent changed one of these files, and the last one after which a person restored one; -1: none. */
export function lastChanges(versions: readonly FileVersion[], paths: readonly string[]) {
  const own = [...byPath(versions)].filter(([path]) => isChosen(path, paths)).flatMap(([, changes]) => changes);
  const lastOf = (some: readonly FileVersion[]): number => some.reduce((last, { step }) => Math.max(last, step), -1);
  return { step: lastOf(own.filter((version) => !isPutBack(version))), restored: lastOf(own.filter(isPutBack)) };
}

/** Leaves out what was found as the append before had left it. `versions`: those of one path, oldest first. */
export async function withoutCopies(versions: readonly FileVersion[], store: Pick<StoreReader, "blob">) {
  const kept: FileVersion[] = [];
  for (const version of versions) {
    const before = kept.at(-1);
    const isSized = version.operation === "found" && before?.operation === "append" && before.bytes === version.bytes;
    const isCopy = isSized && isSame(await restoreVersion([version], store), await restoreVersion(kept, store));
    if (!isCopy) kept.push(version);
  }
  return kept;
}

/** Null is no file. */
export const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.from(a).equals(b);

/** The time of a comparison grows with the square of the difference. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;
const MAX_COMPARE_MS = 5_000;

function compareContents(
  path: string,
  old: Uint8Array | null,
  now: Uint8Array | null,
  [oldLabel, newLabel]: readonly [string, string],
): Omit<FileDiff, "path" | "editedByPerson"> {
  const change = old === null ? "added" : now === null ? "removed" : "changed";
  const sizes = { change, fromBytes: old?.length ?? 0, toBytes: now?.length ?? 0 } as const;
  const without = (note: string) => ({ ...sizes, added: null, removed: null, patch: null, note });
  if (Math.max(sizes.fromBytes, sizes.toBytes) > MAX_TEXT_BYTES) return without("too large for a line diff");
  const [oldText, newText] = [textOf(old), textOf(now)];
  if (oldText === undefined || newText === undefined) return without("binary");
  const names = [old === null ? "/dev/null" : `a/${path}`, now === null ? "/dev/null" : `b/${path}`] as const;
  const options = { context: 3, timeout: MAX_COMPARE_MS, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(...names, oldText, newText, oldLabel, newLabel, options);
  if (patch === undefined) return without("too different for a line diff");
  return { ...sizes, ...countLines(patch), patch, note: "" };
}

/** Undefined for binary content. */
function textOf(content: Uint8Array | null): string | undefined {
  if (content === null) return "";
  return isBinary(content) ? undefined : decodeUtf8(content);
}

/** After the two header lines, each line that begins with a sign is a line of the file. */
function countLines(patch: string): { readonly added: number; readonly removed: number } {
  const signs = patch
    .split("\n")
    .slice(2)
    .map((line) => line[0]);
  return { added: signs.filter((sign) => sign === "+").length, removed: signs.filter((sign) => sign === "-").length };
}

export const DiffView = open({
  agent: text,
  from: count,
  to: described(nullable(count), "Null for the files as they are now, and when nothing was ever changed."),
  files: listOf(FileDiff),
});
export type DiffView = Static<typeof DiffView>;

export interface DiffRequest {
  /**
   * Steps. Without both, the files are compared around the last step that changed any, or since it where a person
   * restored files after it.
   */
  readonly from?: number;
  readonly to?: number;
  /** Files, or folders with all files below; empty means all files. */
  readonly paths: readonly string[];
}

/**
 * Compares the files of an agent between two steps. Throws GOALD_NOT_FOUND for an unknown path or step, GOALD_USAGE for
 * steps in the wrong order.
 */
export async function diffAgent(
  row: AgentRow,
  request: DiffRequest,
  reader: Pick<StoreReader, "files" | "blob" | "load">,
): Promise<DiffView> {
  const versions = await reader.files(row.id);
  requireKnown(request.paths, versions, row.id);
  const { step } = await stateOf(reader, row);
  const range = rangeOf(request, versions);
  for (const end of [request.from, request.to]) if (end !== undefined) requireTaken(end, step, row.id);
  const files = range ? await diffFiles(versions, range, reader) : [];
  const to = range && Number.isFinite(range.to) ? range.to : null;
  return { agent: row.id, from: range?.from ?? 0, to, files };
}

/** Undefined when nothing was ever changed and the request names no step. */
function rangeOf({ from, to, paths }: DiffRequest, versions: readonly FileVersion[]): DiffRange | undefined {
  if (from !== undefined && to !== undefined && from > to)
    throw new GoaldError("GOALD_USAGE", `Expected --from before --to, got ${from} and ${to}.`, {
      hint: `To see what was undone since: goald diff … --from ${to} --to ${from}`,
    });
  if (from !== undefined) return { from, to: to ?? Number.POSITIVE_INFINITY, paths };
  const { step, restored } = lastChanges(versions, paths);
  if (to === undefined && restored > -1 && restored >= step)
    return { from: restored, to: Number.POSITIVE_INFINITY, paths };
  const last = to ?? step;
  return last < 0 ? undefined : { from: Math.max(0, last - 1), to: last, paths };
}

/** Throws GOALD_NOT_FOUND for a path that is neither a file in the history nor a folder of one. */
export function requireKnown(paths: readonly string[], versions: readonly FileVersion[], agent: string): void {
  const unknown = paths.find((name) => !versions.some(({ path }) => path === name || path.startsWith(`${name}/`)));
  if (unknown === undefined) return;
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a file or folder that ${agent} wrote, got ${JSON.stringify(unknown)}.`,
    { hint: `See its files: goald show ${agent} --files` },
  );
}

const MAX_CALL_BYTES = 1024 * 1024;

/** The content after the call; null for no file, undefined when the call would fail. */
type Apply = (before: Uint8Array | null, args: Readonly<Record<string, unknown>>) => Uint8Array | null | undefined;

const bytesOf = (text: unknown): Uint8Array | undefined => (typeof text === "string" ? Buffer.from(text) : undefined);

const APPLY: Readonly<Record<string, Apply>> = {
  write_to_file: (_before, { text }) => bytesOf(text),
  append_to_file: (before, { text }) => {
    const added = bytesOf(text);
    return added && Buffer.concat([before ?? Buffer.alloc(0), added]);
  },
  edit_file: (before, { old, new: text, count = 1 }) => {
    if (!before || typeof old !== "string" || old === "" || typeof text !== "string") return undefined;
    const edit = replaceText(before, { old, new: text }, Number(count), MAX_CALL_BYTES);
    return edit.kind === "replaced" ? edit.content : undefined;
  },
  delete_file: (before) => (before ? null : undefined),
};

/**
 * Returns what a waiting call would change in its file: a diff against the file as it is now. Null for other commands,
 * large files, and a call that would fail.
 */
export async function changeOf(
  { name, args }: CommandCall,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<CallChange | null> {
  const apply = Object.hasOwn(APPLY, name) ? APPLY[name] : undefined;
  const { file } = args;
  if (!apply || typeof file !== "string") return null;
  const stat = await workspace.stat(file);
  if (stat && stat.bytes > MAX_CALL_BYTES) return null;
  const before = stat ? await workspace.read(file) : null;
  const after = apply(before, args);
  if (after === undefined) return null;
  const path = stat?.path ?? file;
  const { added, removed, patch, note } = compareContents(path, before, after, ["now", "after the call"]);
  return { path, against: before && hash("sha256", before), added, removed, patch, note };
}
