/** growth.ts -- how the cost of work grows with its size, told by CPU time side by side: linear or not, never how fast. */

const TRIES = 3;
/** Less cannot be told from noise. */
const SMALLEST_MS = 5;

/** How many times the work of `size` costs that of an eighth of it: 8 when it is linear, 64 when it is quadratic. */
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
