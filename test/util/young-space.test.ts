import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { makeRoomFor } from "#util/young-space.ts";

/** Far more than the wait for the next agent. */
const A_MINUTE_MS = 60_000;

describe("the heap of a host", () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["setImmediate"] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it("is collected after the last agent, although nothing allocates any more", async () => {
    makeRoomFor(1);
    const left = new WeakRef({ of: "an agent" });
    makeRoomFor(0);
    // A new WeakRef holds its object until the end of the task.
    await setImmediate();
    jest.advanceTimersByTime(A_MINUTE_MS);
    expect(left.deref()).toBeUndefined();
  });

  it("is not collected while an agent is left", () => {
    makeRoomFor(1);
    makeRoomFor(0);
    makeRoomFor(1);
    expect(jest.getTimerCount()).toBe(0);
  });
});
