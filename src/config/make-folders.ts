/**
 * make-folders.ts -- makes a folder and its missing parents.
 *
 * It makes one level at a time, because Node 24's recursive `mkdir` never returns where no folder can be made, as below
 * /proc.
 */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mode` applies to new folders only. Throws the system's error. */
export async function makeFolders(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder && !(await stat(parent).catch(() => undefined))) await makeFolders(parent, mode);
  await mkdir(folder, { mode }).catch(async (thrown: unknown) => {
    // Another process may have made it in the meantime.
    if (!(await isFolder(folder))) throw thrown;
  });
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
