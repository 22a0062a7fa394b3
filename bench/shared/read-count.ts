/** read-count.ts -- a whole number from the command line of a bench. */

/** The argument at this place, from 0, or `preset` without one. Anything but a whole number from 1 ends the process with 2. */
export function readCount(place: number, name: string, preset: number): number {
  const given = process.argv[2 + place];
  if (given === undefined) return preset;
  if (/^[1-9]\d{0,5}$/.test(given)) return Number(given);
  console.error(`Expected ${name} as a whole number from 1, got ${JSON.stringify(given)}.`);
  process.exit(2);
}
