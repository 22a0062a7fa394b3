/** play-clock.ts -- replay clocks: recorded times for the loop, and a clock without waits for all other parts. */
import type { Clock } from "#core/ports/clock.ts";

/** Returns the recorded times. After the last recorded time, it keeps returning that time. */
export class PlayClock implements Clock {
  readonly #segment: () => readonly number[];
  #index = 0;
  #at = 0;

  /** `segment`: times read before the next commit. The first is in ms since 1970; the others are differences. */
  constructor(segment: () => readonly number[]) {
    this.#segment = segment;
  }

  now(): Date {
    this.#read();
    return new Date(this.#at);
  }

  async sleep(): Promise<void> {}

  /** Skips `count` readings. */
  skip(count: number): void {
    for (let left = count; left > 0; left--) this.#read();
  }

  /** Starts with the readings of the next commit. */
  rewind(): void {
    this.#index = 0;
  }

  #read(): void {
    const step = this.#segment()[this.#index];
    if (step !== undefined) this.#at = this.#index === 0 ? step : this.#at + step;
    this.#index++;
  }
}

/** Sleeps return at once and advance the clock by their duration. */
export function patientClock(): Clock {
  let at = 0;
  return {
    now: () => new Date(at),
    sleep: async (ms) => {
      at += Math.max(0, ms);
    },
  };
}
