/** memory-folders.ts -- the folders with the index files of long-term memory. */
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Store } from "#core/ports/store.ts";
import type { RecallingMemory } from "#memory/recall/long-term-memory.ts";
import { removeIndexes, removeStrayIndexes } from "#memory/vectors/index-folders.ts";

export const indexRoot = ({ privateFolder }: Home): string => join(privateFolder, "memory");

/** Drops a removed agent's memory from main memory, and removes its index files. */
export async function removeMemoryOf(home: Home, agent: string, memory: RecallingMemory | undefined): Promise<void> {
  await memory?.release(agent);
  await removeIndexes(indexRoot(home), agent);
}

/** Removes index files of agents that no longer exist; a crash may leave some. */
export async function removeStrayIndexesOf(host: { readonly home: Home; readonly store: Store }): Promise<void> {
  const ids = (await host.store.agents()).map(({ id }) => id);
  await removeStrayIndexes(indexRoot(host.home), [SHARED_MEMORY, ...ids]);
}
