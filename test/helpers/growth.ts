/** growth.ts -- measures by CPU time whether the cost of work grows linearly with its size. */

const TRIES = 3;
/** Smaller times are noise. */
const SMALLEST_MS = 5;

/** Returns the cost of `size` divided by that of an eighth: about 8 for linear work, 64 for quadratic work. */
export async function growthOverEightfold(size: number, work: (size: number) => unknown): Promise<number> {
  await work(size / 8);
  const small = await leastCpuMs(() => work(size / 8));
  const large = await leastCpuMs(() => work(size));
  return large / Math.max(SMALLEST_MS, small);
}

async function leastCpuMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < TRIES; time++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
