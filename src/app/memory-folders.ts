/** memory-folders.ts -- the folders with the index files of long-term memory. */
import { hash } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";

export const indexRoot = ({ privateFolder }: Pick<Home, "privateFolder">): string => join(privateFolder, "memory");

/**
 * Drops a memory from main memory, and removes its index files: the agent was removed, or rows were forgotten. A graph keeps the
 * vectors of removed rows until it is built again.
 */
export async function removeMemoryOf(
  home: Pick<Home, "privateFolder">,
  agent: string,
  memory?: Pick<RecallingMemory, "release">,
): Promise<void> {
  await memory?.release(agent);
  const root = indexRoot(home);
  await rm(memoryFolder(root, agent), { recursive: true, force: true });
  // After a power cut the removed files do not come back.
  await using folder = await open(root, "r").catch(() => undefined);
  await folder?.sync();
}

/**
 * Returns the folder of the index files of a namespace, which has the snapshot of the words. No file is the only copy
 * of anything. But the files hold words and vectors of memories, so they are deleted with their agent.
 */
export const memoryFolder = (root: string, namespace: string): string => join(root, folderName(namespace));

/** Removes index files of all other namespaces, such as those of a removed agent after a crash. */
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
