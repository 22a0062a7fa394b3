/** power-cut.ts -- the power goes at a chosen moment of a loop's life: nothing after it happened, and the next life begins. */
import type { Store } from "#core/ports/store.ts";
import type { Prepare } from "#loop/perform.ts";
import type { MemoryStore } from "./memory-store.ts";

/** The process dies: nothing after this line happened. */
export class PowerCut extends Error {}

export type When = "before" | "after";

/** Around a store: cuts the power before, or right after, its commit number `at`, whoever's it is; counts on over several lives. */
export function cutPowerAt(at: number, when: When) {
  let count = 0;
  return (store: MemoryStore) => {
    const commit: Store["commit"] = async (lease, head, unit) => {
      count++;
      if (count === at && when === "before") throw new PowerCut();
      await store.commit(lease, head, unit);
      if (count === at) throw new PowerCut();
    };
    return {
      load: store.load.bind(store),
      inbox: store.inbox.bind(store),
      blob: store.blob.bind(store),
      deliver: store.deliver.bind(store),
      commit,
    };
  };
}
export type CutStore = ReturnType<ReturnType<typeof cutPowerAt>>;

/** Cuts the power when a move of that kind has acted: its intent is durable, its end is not seen. */
export const cutPowerAfter =
  (kind: "ask" | "execute", isDeadly: () => boolean = () => true) =>
  (real: Prepare): Prepare =>
  async (move, journal) => {
    const work = await real(move, journal);
    if (move.kind !== kind || !work.intent || !isDeadly()) return work;
    return {
      ...work,
      act: async () => {
        await work.act();
        throw new PowerCut();
      },
    };
  };
