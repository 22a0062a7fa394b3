/** memory-folders.ts -- the folders with the index files of long-term memory. */
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Store } from "#core/ports/store.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { removeIndexes, removeStrayIndexes } from "#memory/vectors/index-folders.ts";

export const indexRoot = ({ privateFolder }: Pick<Home, "privateFolder">): string => join(privateFolder, "memory");

/**
 * Drops a memory from main memory, and removes its index files: the agent was removed, or rows were forgotten. A graph keeps the
 * vectors of removed rows until it is built again.
 */
export async function removeMemoryOf(
  home: Pick<Home, "privateFolder">,
  agent: string,
  memory?: RecallingMemory,
): Promise<void> {
  await memory?.release(agent);
  await removeIndexes(indexRoot(home), agent);
}

/** Removes index files of agents that no longer exist; a crash may leave some. */
export async function removeStrayIndexesOf(host: { readonly home: Home; readonly store: Store }): Promise<void> {
  const ids = (await host.store.agents()).map(({ id }) => id);
  await removeStrayIndexes(indexRoot(host.home), [SHARED_MEMORY, ...ids]);
}
