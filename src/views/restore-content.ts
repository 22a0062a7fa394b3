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
import { holdsFileContent, isPutBack, placingCallOf, restoreVersion } from "./restore-version.ts";

export interface FileHistory {
  readonly path: string;
  /** Versions of the file, and the comings and goings of placed folders above it, in order. */
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
    const own = all.filter((version) => holdsFileContent(version) || isDelete(version));
    const above = parentsOf(path).filter((parent) => placed.has(parent));
    const moves = above.flatMap((parent) => (byPath.get(parent) ?? []).filter((it) => isPlace(it) || isDelete(it)));
    const marks = [...own, ...moves].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    histories.push({ path, marks });
  }
  return histories.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const isPlace = ({ operation }: FileVersion): boolean => operation === "place";
const isDelete = ({ operation }: FileVersion): boolean => operation === "delete";

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
  const [lastMark, next] = [marks[last], marks[last + 1]];
  if (lastMark?.path === path) {
    const own = marks.filter((mark) => mark.path === path && kept.has(mark));
    return { content: await restoreVersion(own, store), outside: lastMark.outside ?? [] };
  }
  if (lastMark?.operation !== "place") return next?.operation === "found" ? contentOf(next, store) : NO_FILE;
  const first = findFirstInside(lastMark, path, marks.slice(last + 1));
  if (!first) return undefined;
  const isAsBefore = first.path === path && (first.operation === "found" || isPutBack(first));
  return isAsBefore ? contentOf(first, store) : NO_FILE;
}

/** The content of a file that was found was there before: in a folder, or made by a person. */
const contentOf = async (version: FileVersion, store: Pick<StoreReader, "blob">): Promise<KnownContent> => ({
  content: await restoreVersion([version], store),
  outside: version.outside ?? [],
});

/**
 * The first change of the file while the placed folder is there, which may leave and come back; or the placing of an inner
 * folder, which needs an empty place.
 */
function findFirstInside(placed: FileVersion, path: string, later: readonly FileVersion[]): FileVersion | undefined {
  let isThere = true;
  return later.find((mark) => {
    if (mark.path === placed.path) isThere = isPlace(mark) && placingCallOf(mark) === placingCallOf(placed);
    return isThere && (mark.path === path || (isPlace(mark) && mark.path.startsWith(`${placed.path}/`)));
  });
}
