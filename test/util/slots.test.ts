import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createSlots } from "#util/slots.ts";

/** Work that ends when the test resolves it. */
function steps(limit: number) {
  const slots = createSlots(limit);
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const start = (number: number, signal?: AbortSignal): Promise<void> =>
    slots.hold(async () => {
      begun.push(number);
      await new Promise<void>((resolve) => ends.set(number, resolve));
    }, signal);
  return { slots, begun, start, end: (number: number) => ends.get(number)?.() };
}
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("slots", () => {
  it("run at most the limit at a time, and the others in order", async () => {
    const { slots, begun, start, end } = steps(2);
    for (const number of [1, 2, 3, 4]) void start(number);
    await settle();
    expect([begun, slots.active, slots.queued]).toEqual([[1, 2], 2, 2]);
    end(2);
    await settle();
    end(1);
    await settle();
    expect(begun).toEqual([1, 2, 3, 4]);
  });

  it("are released when the work fails", async () => {
    const slots = createSlots(1);
    await expect(slots.hold(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await slots.hold(async () => "in")).toBe("in");
    expect(slots.active).toBe(0);
  });

  it("never start work that is aborted in the queue", async () => {
    const { begun, start, end } = steps(1);
    const leaving = new AbortController();
    void start(1);
    const second = start(2, leaving.signal);
    void start(3);
    await settle();
    leaving.abort(new Error("no longer"));
    await expect(second).rejects.toThrow("no longer");
    end(1);
    await settle();
    expect(begun).toEqual([1, 3]);
  });

  it("refuse work that is already aborted", async () => {
    await expect(createSlots(1).hold(async () => "in", AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  });

  it("never run more than the limit, and lose no work, in any order of calls, aborts and ends", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.boolean(), { maxLength: 40 }),
        async (limit, leaves) => {
          const slots = createSlots(limit);
          let most = 0;
          const work = async (): Promise<string> => {
            most = Math.max(most, slots.active);
            await settle();
            return "done";
          };
          const ended = leaves.map((leaving) => {
            const signal = new AbortController();
            const held = slots.hold(work, signal.signal).catch(() => "left");
            if (leaving) signal.abort();
            return held;
          });
          expect((await Promise.all(ended)).every((end) => end === "done" || end === "left")).toBe(true);
          expect([most <= limit, slots.active, slots.queued]).toEqual([true, 0, 0]);
        },
      ),
      { numRuns: 50 },
    );
  });
});
