/** meter.ts -- CPU of this process, all its threads included: on a busy machine the only time that means anything. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What one contender left behind is not to be collected at the other's cost. Compiled code may go with it. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Milliseconds. */
export async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
