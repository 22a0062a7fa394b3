/** rounds.ts -- multiplies the rounds of a randomized test by GOALD_TEST_ROUNDS (default 1). */
const FACTOR = Number(process.env.GOALD_TEST_ROUNDS) || 1;

export const rounds = (usual: number): number => Math.max(1, Math.round(usual * FACTOR));
