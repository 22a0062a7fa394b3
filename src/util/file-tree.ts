/**
 * file-tree.ts -- shows the files below a folder as a bounded list: files with sizes, folders with sums. When all
 * entries exceed the limit, each level of folders gets a half of the rest, and each folder an equal share of that.
 * Folders are shown before files then, so that the shape of the whole stays visible.
 */
import { countNoun, formatSize } from "#core/text.ts";

interface FileEntry {
  readonly path: string;
  readonly bytes: number;
}
interface Folder {
  readonly path: string;
  readonly folders: Map<string, Folder>;
  readonly ownFiles: FileEntry[];
  /** Of all files below. */
  files: number;
  bytes: number;
}

export type FileTree = ReturnType<typeof createFileTree>;

/** `root` is "" or ends in a slash. */
export function createFileTree(root: string) {
  const top = createFolder(root);
  let entries = 0;
  return {
    /** `path` is relative to the same folder as the root's. */
    add(entry: FileEntry): void {
      let folder = top;
      countFile(folder, entry);
      const names = entry.path.slice(root.length).split("/");
      for (const name of names.slice(0, -1)) {
        const known = folder.folders.get(name);
        if (!known) entries += 1;
        const inner = known ?? createFolder(`${folder.path}${name}/`);
        folder.folders.set(name, inner);
        folder = inner;
        countFile(folder, entry);
      }
      folder.ownFiles.push(entry);
      entries += 1;
    },
    get files() {
      return top.files;
    },
    get bytes() {
      return top.bytes;
    },
    /** At most `limit` entries, without the lines that count what is left out. */
    render: (limit: number) => renderFolder(top, shareLimit(top, entries <= limit ? Number.POSITIVE_INFINITY : limit)),
  };
}

const createFolder = (path: string): Folder => ({ path, folders: new Map(), ownFiles: [], files: 0, bytes: 0 });

function countFile(folder: Folder, { bytes }: FileEntry): void {
  folder.files += 1;
  folder.bytes += bytes;
}

/** The number of entries to show of each folder. A folder without a number shows none. */
function shareLimit(top: Folder, limit: number): ReadonlyMap<Folder, number> {
  const shares = new Map<Folder, number>();
  let left = limit;
  for (let level = [top]; level.length > 0 && left > 0; ) {
    const isLast = level.every(({ folders }) => folders.size === 0);
    let forLevel = isLast ? left : Math.ceil(left / 2);
    const next: Folder[] = [];
    for (const [index, folder] of level.entries()) {
      const share = Math.ceil(forLevel / (level.length - index));
      const shown = Math.min(share, folder.folders.size + folder.ownFiles.length);
      if (shown === 0) break;
      shares.set(folder, shown);
      forLevel -= shown;
      left -= shown;
      next.push(...[...folder.folders.values()].slice(0, shown));
    }
    level = next;
  }
  return shares;
}

function renderFolder(folder: Folder, shares: ReadonlyMap<Folder, number>): string[] {
  const shown = shares.get(folder) ?? 0;
  if (shown === 0) return [];
  const folders = [...folder.folders.values()].slice(0, shown);
  const files = folder.ownFiles.slice(0, shown - folders.length);
  const more = folder.ownFiles.length + folder.folders.size - folders.length - files.length;
  return [
    ...files.map(({ path, bytes }) => `${path}  ${formatSize(bytes)}`),
    ...(more > 0 ? [`[… ${more} more in ${folder.path === "" ? "this folder" : folder.path}]`] : []),
    ...folders.flatMap((inner) => [
      `${inner.path}  ${countNoun(inner.files, "file")}, ${formatSize(inner.bytes)}`,
      ...renderFolder(inner, shares),
    ]),
  ];
}
