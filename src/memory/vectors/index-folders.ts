/**
 * index-folders.ts -- where index files lie: `<root>/<namespace>/<embedder>`, so that no file of one is ever opened for another.
 *
 * Nothing in them is the only copy of anything. But they hold vectors of what was remembered, and so they go
 * with whom it belonged to.
 */
import { hash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

export const indexFolder = (root: string, { namespace, embedder }: { namespace: string; embedder: string }): string =>
  join(root, nameOf(namespace), nameOf(embedder));

export async function removeIndexes(root: string, namespace: string): Promise<void> {
  await rm(join(root, nameOf(namespace)), { recursive: true, force: true });
}

/** Removes the files of namespaces that are not among these, such as those that a crash left of a removed agent. */
export async function removeStrayIndexes(root: string, namespaces: Iterable<string>): Promise<void> {
  const kept = new Set(Array.from(namespaces, nameOf));
  const found = await readdir(root).catch(() => []);
  for (const name of found) if (!kept.has(name)) await rm(join(root, name), { recursive: true, force: true });
}

/** Legible, and another one for each name, whatever characters it has. */
function nameOf(name: string): string {
  const legible = name.replace(/[^\w@-]+/g, "_").slice(0, 60);
  return `${legible}-${hash("sha256", name).slice(0, 12)}`;
}
