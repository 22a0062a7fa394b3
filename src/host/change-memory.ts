/** change-memory.ts -- applies a person's memory changes at once, even while the agent runs. */

import type { Control } from "#api/control.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import { findAgent } from "#views/load-agent.ts";

export const changesOf =
  (store: Pick<Store, "agents" | "agent" | "curate">, clock: Clock): Control["changeMemory"] =>
  async (name, changes, key) => {
    const namespace = name === SHARED_MEMORY ? name : (await findAgent(store, name)).id;
    return store.curate(namespace, changes, key, clock.now().toISOString());
  };
