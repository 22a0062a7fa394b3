/** turns.ts -- splits long work in one thread into slices, so that sockets, timers and other work run in between. */

/** The longest time that a slice blocks the thread. */
const TURN_MS = 5;

/** Returns a function to call between parts of the work: undefined within a slice, else a promise to await before going on. */
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
