/**
 * measure.ts -- measures a folder that is being filled, and a git tree that is not checked out yet.
 *
 * A few bytes of a repository can expand to any number of bytes and files, so a tree is counted before any file is
 * written.
 */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** Returns the bytes of all files below a folder. Follows no links; a file that vanishes meanwhile counts 0. */
export async function measureFolderBytes(folder: string): Promise<number> {
  let bytes = 0;
  const ahead = [folder];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (!entries) continue;
    for await (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) ahead.push(path);
      else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
    }
  }
  return bytes;
}

export interface TreeTally {
  files: number;
  bytes: number;
  links: number;
  submodules: number;
  /** Number of .gitattributes files. Without one, no file can be in LFS. */
  attributes: number;
}

/** Maximum of an incomplete entry: git does not limit the length of a name. */
const MAX_ENTRY_BYTES = 64 * 1024;

/** Counts the output of `ls-tree -r -l -z`, piece by piece. */
export function createTreeTally(): { readonly tally: TreeTally; add(piece: Buffer): void } {
  const tally: TreeTally = { files: 0, bytes: 0, links: 0, submodules: 0, attributes: 0 };
  let rest = Buffer.alloc(0);
  return {
    tally,
    add: (piece) => {
      const all = Buffer.concat([rest, piece]);
      let start = 0;
      for (let end = all.indexOf(0); end >= 0; end = all.indexOf(0, start)) {
        countEntry(all.toString("latin1", start, end), tally);
        start = end + 1;
      }
      rest = Buffer.from(all.subarray(start, start + MAX_ENTRY_BYTES));
    },
  };
}

/** `100644 blob <hash>    1234\tpath` */
function countEntry(entry: string, tally: TreeTally): void {
  const [, mode, size, path] = /^(\d{6}) \w+ [0-9a-f]+ +(-|\d+)\t(.*)$/s.exec(entry) ?? [];
  if (mode === "160000") tally.submodules++;
  else tally.files++;
  if (mode === "120000") tally.links++;
  tally.bytes += Number(size === "-" ? 0 : size) || 0;
  if (path !== undefined && /(?:^|\/)\.gitattributes$/.test(path)) tally.attributes++;
}
