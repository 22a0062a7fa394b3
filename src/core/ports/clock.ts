/** clock.ts -- the time, and sleeping. */

export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
