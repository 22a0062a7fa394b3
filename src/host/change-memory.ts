/**
 * change-memory.ts -- applies a person's memory changes at once, even while the agent runs.
 *
 * Forgotten vectors also leave the indexes: these are removed, and built again from the rows at the next recall.
 */

import type { Control } from "#api/control.ts";
import { isForgetting, SHARED_MEMORY } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import { findAgent } from "#views/read-agent.ts";

export const changesOf =
  (
    store: Pick<Store, "agents" | "agent" | "curate">,
    clock: Clock,
    removeIndexes: (namespace: string) => Promise<void>,
  ): Control["changeMemory"] =>
  async (name, changes, key) => {
    const namespace = name === SHARED_MEMORY ? name : (await findAgent(store, name)).id;
    const changed = await store.curate(namespace, changes, key, clock.now().toISOString());
    if (changes.some(isForgetting)) await removeIndexes(namespace);
    return changed;
  };
