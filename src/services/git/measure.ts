/**
 * measure.ts -- how much there is: of a folder that is being filled, and of a tree that is not checked out yet.
 *
 * A few bytes of a repository can stand for any number of bytes and files, so a tree is counted before a file of it is written.
 */
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** Bytes of the files below a folder, links not followed. What vanishes meanwhile has none. */
export async function bytesBelow(folder: string): Promise<number> {
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

export interface Tally {
  files: number;
  bytes: number;
  links: number;
  submodules: number;
  /** Of `.gitattributes`: only with one can files be kept elsewhere. */
  attributes: number;
}

/** Of an entry: git sets no end to a name. */
const KEPT_BYTES = 64 * 1024;

/** Reads the output of `ls-tree -r -l -z`, piece by piece. */
export function createTally(): { readonly tally: Tally; add(piece: Buffer): void } {
  const tally: Tally = { files: 0, bytes: 0, links: 0, submodules: 0, attributes: 0 };
  let rest = Buffer.alloc(0);
  return {
    tally,
    add: (piece) => {
      const all = Buffer.concat([rest, piece]);
      let start = 0;
      for (let end = all.indexOf(0); end >= 0; end = all.indexOf(0, start)) {
        count(all.toString("latin1", start, end), tally);
        start = end + 1;
      }
      rest = Buffer.from(all.subarray(start, start + KEPT_BYTES));
    },
  };
}

/** `100644 blob <hash>    1234\tpath` */
function count(entry: string, tally: Tally): void {
  const [, mode, size, path] = /^(\d{6}) \w+ [0-9a-f]+ +(-|\d+)\t(.*)$/s.exec(entry) ?? [];
  if (mode === "160000") tally.submodules++;
  else tally.files++;
  if (mode === "120000") tally.links++;
  if (path !== undefined && /(?:^|\/)\.gitattributes$/.test(path)) tally.attributes++;
  tally.bytes += Number(size === "-" ? 0 : size) || 0;
}
