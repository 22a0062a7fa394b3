import { describe, expect, it } from "@jest/globals";
import type { Clock } from "#core/ports/clock.ts";
import { systemClock } from "#util/clock.ts";
import { fakeClock } from "../helpers/fake-clock.ts";

/** The contract of every clock. */
describe.each<[name: string, make: () => Clock]>([
  ["the system's clock", () => systemClock],
  ["a fake clock that advances by itself", () => fakeClock({ auto: true })],
])("%s", (_name, make) => {
  it("sleeps at least the given time", async () => {
    const clock = make();
    const before = clock.now().getTime();
    await clock.sleep(20);
    // The clock returns whole milliseconds.
    expect(clock.now().getTime() - before).toBeGreaterThanOrEqual(19);
  });

  it.each([0, -5])("does not sleep for %i ms", async (ms) => {
    await expect(make().sleep(ms)).resolves.toBeUndefined();
  });

  it("does not sleep when it is already aborted", async () => {
    const clock = make();
    for (const ms of [10, 2 ** 40]) await expect(clock.sleep(ms, AbortSignal.abort())).resolves.toBeUndefined();
  });
});

describe.each<[name: string, make: () => Clock]>([
  ["the system's clock", () => systemClock],
  ["a fake clock", () => fakeClock()],
])("%s", (_name, make) => {
  it("wakes when it is aborted, even from a sleep of years, and does not reject", async () => {
    const clock = make();
    for (const ms of [60_000, 2 ** 40]) {
      const abort = new AbortController();
      const sleeping = clock.sleep(ms, abort.signal);
      abort.abort(new Error("enough"));
      await expect(sleeping).resolves.toBeUndefined();
    }
  });
});

describe("a fake clock", () => {
  it("stands still until it is advanced, and wakes sleepers in order of time", async () => {
    const clock = fakeClock({ start: "2026-01-01T00:00:00.000Z" });
    const woken: string[] = [];
    const sleep = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms);
      woken.push(`${name} ${clock.now().toISOString().slice(17, 19)}`);
      if (name === "b") await sleep("c", 1_000);
    };
    const all = Promise.all([sleep("late", 5_000), sleep("b", 2_000)]);
    await clock.advance(1_999);
    expect(woken).toEqual([]);
    expect(clock.sleepers).toBe(2);
    await clock.advance(3_001);
    await all;
    expect(woken).toEqual(["b 02", "c 03", "late 05"]);
    expect(clock.now().toISOString()).toBe("2026-01-01T00:00:05.000Z");
    expect(clock.slept).toEqual([5_000, 2_000, 1_000]);
    expect(clock.sleepers).toBe(0);
  });
});
