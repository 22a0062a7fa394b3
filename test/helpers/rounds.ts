/** rounds.ts -- how often a test goes round that gets surer with every round: as often as it says, times GOALD_TEST_ROUNDS (default: 1). */
const FACTOR = Number(process.env.GOALD_TEST_ROUNDS) || 1;

export const rounds = (usual: number): number => Math.max(1, Math.round(usual * FACTOR));
