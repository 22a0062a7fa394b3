/** turns.ts -- long work on the main thread, in slices: between them everybody else has a turn. */

/** A piece of work holds the main thread no longer than this. */
const TURN_MS = 5;

/** Resolves at once while the turn lasts, and after everybody else's turn when it is over. */
export function createTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        began = performance.now();
        resolve();
      });
    });
  };
}
