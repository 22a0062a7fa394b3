/**
 * make-folders.ts -- a folder and those above it.
 *
 * One level after the other, because Node 24's recursive `mkdir` tries for ever where
 * folders cannot be made although none is in the way, as below /proc.
 */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mode` holds for new folders only. Throws what the system says. */
export async function makeFolders(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder && !(await stat(parent).catch(() => undefined))) await makeFolders(parent, mode);
  await mkdir(folder, { mode }).catch(async (thrown: unknown) => {
    // Another process may have been faster.
    if (!(await isFolder(folder))) throw thrown;
  });
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
