/**
 * rounds.ts -- how often a randomized test repeats itself.
 *
 * GOALD_TEST_ROUNDS multiplies both counts. Without it a proof runs its usual rounds, a property runs a tenth of its
 * cases, and a story with a cut at every point is cut at every fifth. `npm run test:long` sets it to 1, so that they run
 * whole there.
 */
const SET = Number(process.env.GOALD_TEST_ROUNDS) || undefined;

const scale = (count: number, factor: number): number => Math.max(1, Math.round(count * factor));

/** Rounds of a proof. */
export const rounds = (usual: number): number => scale(usual, SET ?? 1);

/** Cases of a property: all of them in `npm run test:long`, a tenth in `npm test`. */
export const cases = (whole: number): number => scale(whole, SET ?? 0.1);

/** Points of a story to cut at: all of them in `npm run test:long`, every fifth in `npm test`. */
export const someOf = <T>(points: readonly T[]): readonly T[] =>
  SET === undefined ? points.filter((_, index) => index % 5 === 0) : points;
