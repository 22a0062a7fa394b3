import { describe, expect, it } from "@jest/globals";
import { createEmbeddingMeter, type EmbeddingMeterParts } from "#model/embedding-meter.ts";

function start(limits: Partial<EmbeddingMeterParts> = {}, content: { kept?: unknown } = {}) {
  let nowMs = Date.parse("2026-11-21T23:50:00Z");
  const meter = createEmbeddingMeter({
    tokensPerMinute: null,
    tokensPerDay: null,
    clock: { now: () => new Date(nowMs) },
    file: {
      read: async () => content.kept,
      write: async (kept) => {
        content.kept = kept;
      },
    },
    ...limits,
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { meter, pass, content };
}
const takes = (promise: Promise<void>) =>
  promise.then(
    () => true,
    (error: { code: string }) => error.code,
  );

describe("the embedding meter", () => {
  it("limits tokens per day, over restarts, and starts again the next day", async () => {
    const { meter, content, pass } = start({ tokensPerDay: 100 });
    expect([await takes(meter.take(60)), await takes(meter.take(50))]).toEqual([true, "GOALD_LIMIT"]);
    meter.settle(60, 90);
    expect(meter.read()).toEqual({ tokens: 90, tokensPerDay: 100 });
    await new Promise((resolve) => setImmediate(resolve));
    const again = start({ tokensPerDay: 100 }, content);
    expect([await takes(again.meter.take(20)), await takes(again.meter.take(10))]).toEqual(["GOALD_LIMIT", true]);
    pass(11 * 60_000);
    expect([meter.read().tokens, await takes(meter.take(100))]).toEqual([0, true]);
  });

  it("limits tokens per minute, but admits one larger request", async () => {
    const { meter, pass } = start({ tokensPerMinute: 100 });
    expect([await takes(meter.take(500)), await takes(meter.take(1))]).toEqual([true, "GOALD_LIMIT"]);
    pass(59_000);
    expect(await takes(meter.take(1))).toBe("GOALD_LIMIT");
    pass(2_000);
    expect(await takes(meter.take(1))).toBe(true);
  });

  it.each([null, 7, "x", { day: 1, tokens: "many" }, { day: "2026-11-21", tokens: -5 }])(
    "is not put off by a file that says %j",
    async (kept) => {
      const { meter } = start({ tokensPerDay: 100 }, { kept });
      expect(await takes(meter.take(100))).toBe(true);
    },
  );

  it("neither limits nor counts a replay", async () => {
    const played = start({ tokensPerDay: 10, through: <T>() => null as T });
    expect(await takes(played.meter.take(1_000))).toBe(true);
    played.meter.settle(1_000, 2_000);
    expect(played.meter.read().tokens).toBe(0);
  });
});
