/**
 * file-diff.ts -- what changed in an agent's files between the ends of two steps, as unified diffs. From the history alone.
 */
import { createTwoFilesPatch } from "diff";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { byPath, isChosen, restoreVersion, upToStep } from "./restore-version.ts";

export interface FileDiff {
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
  readonly fromBytes: number;
  readonly toBytes: number;
  /** Lines; null for a file that is not compared line by line. */
  readonly added: number | null;
  readonly removed: number | null;
  /** Unified; null likewise. */
  readonly patch: string | null;
  /** Why there is no patch; empty when there is one. */
  readonly note: string;
  /** Steps in which a person's edit was found: it is part of the difference. */
  readonly editedByPerson: readonly number[];
}

export interface DiffRange {
  /** As the files were after these steps; `to` may be infinity: as they are now. */
  readonly from: number;
  readonly to: number;
  /** Only these files, or those below these folders; none for all. */
  readonly paths: readonly string[];
}

/** Sorted by path; files that are the same at both ends are left out. */
export async function diffFiles(
  versions: readonly FileVersion[],
  { from, to, paths }: DiffRange,
  store: Pick<StoreReader, "blob">,
): Promise<readonly FileDiff[]> {
  const diffs: FileDiff[] = [];
  for (const [path, changes] of byPath(versions)) {
    if (!isChosen(path, paths)) continue;
    const [before, after] = [upToStep(changes, from), upToStep(changes, to)];
    if (before.length === after.length) continue;
    const [old, now] = [await restoreVersion(before, store), await restoreVersion(after, store)];
    if (isSame(old, now)) continue;
    const edits = after.filter((version) => !before.includes(version) && version.operation === "found");
    const editedByPerson = [...new Set(edits.map(({ step }) => step))];
    diffs.push({ path, ...compare(path, old, now, labels(from, to)), editedByPerson });
  }
  return diffs.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The last step in which the agent changed a file that is looked at; undefined when it never did. */
export function lastChangingStep(versions: readonly FileVersion[], paths: readonly string[]): number | undefined {
  const own = [...byPath(versions)].filter(([path]) => isChosen(path, paths)).flatMap(([, changes]) => changes);
  const steps = own.filter((version) => upToStep([version], version.step).length > 0).map(({ step }) => step);
  return steps.length === 0 ? undefined : steps.reduce((last, step) => Math.max(last, step));
}

const labels = (from: number, to: number): readonly [string, string] => [
  `step ${from}`,
  Number.isFinite(to) ? `step ${to}` : "now",
];

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.from(a).equals(b);

/** Comparing takes time by the square of the difference. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;
const MAX_COMPARE_MS = 5_000;
const BINARY_BYTES = 8_000;

function compare(
  path: string,
  old: Uint8Array | null,
  now: Uint8Array | null,
  [oldLabel, newLabel]: readonly [string, string],
): Omit<FileDiff, "path" | "editedByPerson"> {
  const change = old === null ? "added" : now === null ? "removed" : "changed";
  const sizes = { change, fromBytes: old?.length ?? 0, toBytes: now?.length ?? 0 } as const;
  const without = (note: string) => ({ ...sizes, added: null, removed: null, patch: null, note });
  if (Math.max(sizes.fromBytes, sizes.toBytes) > MAX_TEXT_BYTES)
    return without("too large to be compared line by line");
  const [oldText, newText] = [textOf(old), textOf(now)];
  if (oldText === undefined || newText === undefined) return without("binary");
  const names = [old === null ? "/dev/null" : `a/${path}`, now === null ? "/dev/null" : `b/${path}`] as const;
  const options = { context: 3, timeout: MAX_COMPARE_MS, headerOptions: HEADERS };
  const patch = createTwoFilesPatch(...names, oldText, newText, oldLabel, newLabel, options);
  if (patch === undefined) return without("too different to be compared line by line");
  return { ...sizes, ...countLines(patch), patch, note: "" };
}

const HEADERS = { includeIndex: false, includeUnderline: false, includeFileHeaders: true };

/** Undefined for what is no text. */
function textOf(content: Uint8Array | null): string | undefined {
  if (content === null) return "";
  if (content.subarray(0, BINARY_BYTES).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

/** Behind the two lines of the header every line that begins with a sign is a line of the file. */
function countLines(patch: string): { readonly added: number; readonly removed: number } {
  const signs = patch
    .split("\n")
    .slice(2)
    .map((line) => line[0]);
  return { added: signs.filter((sign) => sign === "+").length, removed: signs.filter((sign) => sign === "-").length };
}
