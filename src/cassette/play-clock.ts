/** play-clock.ts -- the time during a replay: as it was recorded for the loop, and without waits for everything beside it. */
import type { Clock } from "#core/ports/clock.ts";

/** Returns the recorded times. Read more often than they were recorded, the last one stands still. */
export class PlayClock implements Clock {
  readonly #segment: () => readonly number[];
  #index = 0;
  #at = 0;

  /** `segment`: the times read up to the next commit; the first is milliseconds since 1970, then come differences. */
  constructor(segment: () => readonly number[]) {
    this.#segment = segment;
  }

  now(): Date {
    this.#read();
    return new Date(this.#at);
  }

  async sleep(): Promise<void> {}

  /** Leaves out so many readings. */
  skip(count: number): void {
    for (let left = count; left > 0; left--) this.#read();
  }

  /** The next readings are those of the next commit. */
  rewind(): void {
    this.#index = 0;
  }

  #read(): void {
    const step = this.#segment()[this.#index];
    if (step !== undefined) this.#at = this.#index === 0 ? step : this.#at + step;
    this.#index++;
  }
}

/** Every wait is over at once, and its time has passed. */
export function patientClock(): Clock {
  let at = 0;
  return {
    now: () => new Date(at),
    sleep: async (ms) => {
      at += Math.max(0, ms);
    },
  };
}
