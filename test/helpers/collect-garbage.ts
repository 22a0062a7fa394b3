/** collect-garbage.ts -- collects all garbage, also what a WeakRef held until the end of its task. */
import { setImmediate } from "node:timers/promises";
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";

export async function collectGarbage(): Promise<void> {
  v8.setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  v8.setFlagsFromString("--no-expose-gc");
  await setImmediate();
  collect();
}
