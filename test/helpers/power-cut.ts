/** power-cut.ts -- simulates a power cut at a chosen moment of a loop's run. */
import type { Store } from "#core/ports/store.ts";
import type { PrepareMove } from "#loop/ask-model.ts";
import type { MemoryStore } from "./memory-store.ts";

/** Simulated death of the process. */
export class PowerCut extends Error {}

export type When = "before" | "after";

/** The moments before and after each of `commits` commits. */
export const cutPoints = (commits: number): (readonly [at: number, when: When])[] =>
  Array.from({ length: commits }, (_, index) => index + 1).flatMap((at) => [
    [at, "before"],
    [at, "after"],
  ]);

/** Wraps a store: cuts the power before or after its commit number `at`, counted over all agents and runs. */
export function cutPowerAt(at: number, when: When) {
  let count = 0;
  return (store: MemoryStore) => {
    const commit: Store["commit"] = async (lease, head, unit) => {
      count++;
      if (count === at && when === "before") throw new PowerCut();
      await store.commit(lease, head, unit);
      if (count === at) throw new PowerCut();
    };
    return { ...store, commit };
  };
}

/** Cuts the power after the effect of a move of that kind: its intent is durable, its result is lost. */
export const cutPowerAfter =
  (kind: "ask" | "execute") =>
  (real: PrepareMove): PrepareMove =>
  async (move, journal) => {
    const work = await real(move, journal);
    if (move.kind !== kind || !work.intent) return work;
    return {
      ...work,
      perform: async (enter) => {
        await work.perform(enter);
        throw new PowerCut();
      },
    };
  };
