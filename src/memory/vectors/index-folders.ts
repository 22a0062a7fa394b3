/**
 * index-folders.ts -- the folders of index files: `<root>/<namespace>/<embedder>`, so that no two indexes share a file.
 *
 * No file is the only copy of anything. But the files hold vectors of memories, so they are deleted with their agent.
 */
import { hash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

export const indexFolder = (root: string, { namespace, embedder }: { namespace: string; embedder: string }): string =>
  join(root, folderName(namespace), folderName(embedder));

export async function removeIndexes(root: string, namespace: string): Promise<void> {
  await rm(join(root, folderName(namespace)), { recursive: true, force: true });
}

/** Removes the files of all other namespaces, such as those of a removed agent after a crash. */
export async function removeStrayIndexes(root: string, namespaces: Iterable<string>): Promise<void> {
  const kept = new Set(Array.from(namespaces, folderName));
  const found = await readdir(root).catch(() => []);
  for (const name of found) if (!kept.has(name)) await rm(join(root, name), { recursive: true, force: true });
}

/** Returns a legible folder name, unique for each name. */
function folderName(name: string): string {
  const legible = name.replace(/[^\w@-]+/g, "_").slice(0, 60);
  return `${legible}-${hash("sha256", name).slice(0, 12)}`;
}
