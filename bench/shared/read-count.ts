/** read-count.ts -- reads a whole number from the command line of a bench. */

/** Returns the argument at `place`, counted from 0, or `preset` without one. Exits with 2 unless it is a whole number from 1. */
export function readCount(place: number, name: string, preset: number): number {
  const given = process.argv[2 + place];
  if (given === undefined) return preset;
  if (/^[1-9]\d{0,5}$/.test(given)) return Number(given);
  console.error(`Expected a whole number from 1 for ${name}, got ${JSON.stringify(given)}.`);
  process.exit(2);
}
