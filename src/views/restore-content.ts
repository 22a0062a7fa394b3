/**
 * restore-content.ts -- finds the content that a file had at the versions that lead to a restoration's target.
 *
 * A file may have come with a placed folder, such as a clone: then the history has its content from the first change on,
 * which keeps what it finds (`found`).
 */
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { OutsideSource } from "#core/provenance.ts";
import { parentsOf } from "./restore-target.ts";
import { holdsFileContent, restoreVersion } from "./restore-version.ts";

export interface FileHistory {
  readonly path: string;
  /** Versions of the file, and the placings of folders above it, in order. */
  readonly marks: readonly FileVersion[];
}

/** Histories of all files that have ever had content, sorted by path. */
export function historiesOf(versions: readonly FileVersion[]): readonly FileHistory[] {
  const placed = new Set(versions.filter(({ operation }) => operation === "place").map(({ path }) => path));
  const order = new Map(versions.map((version, index) => [version, index]));
  const byPath = Map.groupBy(versions, ({ path }) => path);
  const histories: FileHistory[] = [];
  for (const [path, all] of byPath) {
    if (!all.some(holdsFileContent)) continue;
    const own = all.filter((version) => holdsFileContent(version) || version.operation === "delete");
    const above = parentsOf(path).filter((parent) => placed.has(parent));
    const placings = above.flatMap((parent) => (byPath.get(parent) ?? []).filter(isPlace));
    const marks = [...own, ...placings].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    histories.push({ path, marks });
  }
  return histories.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const isPlace = ({ operation }: FileVersion): boolean => operation === "place";

export interface KnownContent {
  /** Null for no file. */
  readonly content: Uint8Array | null;
  readonly outside: readonly OutsideSource[];
}

const NO_FILE: KnownContent = { content: null, outside: [] };

/** Undefined for a file that came with a folder and that nobody has changed: it is as the folder is. */
export async function contentAt(
  { path, marks }: FileHistory,
  kept: ReadonlySet<FileVersion>,
  store: Pick<StoreReader, "blob">,
): Promise<KnownContent | undefined> {
  const last = marks.findLastIndex((mark) => kept.has(mark));
  const lastMark = marks[last];
  if (lastMark?.path === path) {
    const own = marks.filter((mark) => mark.path === path && kept.has(mark));
    return { content: await restoreVersion(own, store), outside: lastMark.outside ?? [] };
  }
  const next = marks[last + 1];
  // A file that was found was there before: in the folder, or made by a person.
  if (next?.path === path)
    return next.operation === "found"
      ? { content: await restoreVersion([next], store), outside: next.outside ?? [] }
      : NO_FILE;
  return lastMark === undefined ? NO_FILE : undefined;
}
