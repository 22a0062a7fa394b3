import { describe, expect, it } from "@jest/globals";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { createRateLimiter } from "#model/rate-limiter.ts";
import { fakeClock, settle } from "../helpers/fake-clock.ts";
import { scriptedModel } from "../helpers/models.ts";

const REPLIED: ModelAnswer = { kind: "replied", text: "{}", finishReason: "stop", usage: null };
const tooMany = (afterMs: number | null): ModelAnswer => ({
  kind: "failed",
  code: "rate-limited",
  message: "Too many requests.",
  retry: { afterMs },
});
const REQUEST = { model: "m", messages: [] };
const never = (): AbortSignal => new AbortController().signal;

/** A model that notes when it is called and answers when the test lets it. */
function heldModel() {
  const calls: (() => void)[] = [];
  const model: LanguageModel = {
    complete: async () => {
      await new Promise<void>((resolve) => calls.push(resolve));
      return REPLIED;
    },
  };
  return { model, calls };
}

describe("the model gate", () => {
  it("limits concurrent calls for any number of agents", async () => {
    const held = heldModel();
    const gate = createRateLimiter({ concurrency: 3, requestsPerMinute: null }, fakeClock());
    const agents = Array.from({ length: 10 }, () => gate.guard(held.model).complete(REQUEST, never()));
    await settle();
    expect([held.calls.length, gate.active, gate.queued]).toEqual([3, 3, 7]);
    for (let ended = 0; ended < 10; ended++) {
      expect(held.calls).toHaveLength(Math.min(10, 3 + ended));
      held.calls[ended]?.();
      await settle();
    }
    await Promise.all(agents);
  });

  it("serves agents in turn: a second call waits behind the others", async () => {
    const order: string[] = [];
    const model: LanguageModel = {
      complete: async ({ model: agent }) => {
        order.push(agent);
        await settle();
        return REPLIED;
      },
    };
    const gate = createRateLimiter({ concurrency: 1, requestsPerMinute: null }, fakeClock());
    const agent = async (name: string): Promise<void> => {
      for (let step = 0; step < 3; step++) await gate.guard(model).complete({ ...REQUEST, model: name }, never());
    };
    await Promise.all(["a", "b", "c"].map(agent));
    expect(order.join("")).toBe("abcabcabc");
  });

  it("makes all agents wait after a rate limit until the time that the server names", async () => {
    const clock = fakeClock();
    const model = scriptedModel([tooMany(5_000), "{}"]);
    const gate = createRateLimiter({ concurrency: 2, requestsPerMinute: null }, clock);
    expect((await gate.guard(model).complete(REQUEST, never())).kind).toBe("failed");
    expect(gate.closedUntil).toEqual(new Date(clock.now().getTime() + 5_000));
    const second = gate.guard(model).complete(REQUEST, never());
    await clock.advance(4_999);
    expect(model.requests).toHaveLength(1);
    await clock.advance(1);
    expect((await second).kind).toBe("replied");
    expect(gate.closedUntil).toBeNull();
  });

  it("waits at most a minute: agents record longer waits themselves", async () => {
    const clock = fakeClock();
    const gate = createRateLimiter({ concurrency: 1, requestsPerMinute: null }, clock);
    await gate.guard(scriptedModel([tooMany(3_600_000)])).complete(REQUEST, never());
    expect(gate.closedUntil).toEqual(new Date(clock.now().getTime() + 60_000));
  });

  it("spreads calls over the minute, and allows a tenth in a burst", async () => {
    const clock = fakeClock();
    const model = scriptedModel(() => "{}");
    const gate = createRateLimiter({ concurrency: 100, requestsPerMinute: 60 }, clock);
    const all = Array.from({ length: 30 }, () => gate.guard(model).complete(REQUEST, never()));
    await settle();
    expect(model.requests.length).toBe(6);
    await clock.advance(10_000);
    expect(model.requests.length).toBe(16);
    await clock.advance(14_000);
    await Promise.all(all);
    expect(model.requests.length).toBe(30);
  });

  it("frees the place of an aborted agent", async () => {
    const held = heldModel();
    const gate = createRateLimiter({ concurrency: 1, requestsPerMinute: null }, fakeClock());
    const first = gate.guard(held.model).complete(REQUEST, never());
    const leaving = new AbortController();
    const second = gate.guard(held.model).complete(REQUEST, leaving.signal);
    await settle();
    leaving.abort(new Error("killed"));
    await expect(second).rejects.toThrow("killed");
    held.calls[0]?.();
    await first;
    expect([gate.active, gate.queued]).toEqual([0, 0]);
  });

  it("does not wait for an hour when the clock is set back by one", async () => {
    const clock = fakeClock();
    let backMs = 0;
    const setBack = { ...clock, now: () => new Date(clock.now().getTime() - backMs) };
    const gate = createRateLimiter({ concurrency: 1, requestsPerMinute: null }, setBack);
    const model = scriptedModel([tooMany(30_000), "{}"]);
    await gate.guard(model).complete(REQUEST, never());
    expect(gate.closedUntil).not.toBeNull();
    backMs = 3_600_000;
    expect(gate.closedUntil).toBeNull();
    expect((await gate.guard(model).complete(REQUEST, never())).kind).toBe("replied");
  });
});
