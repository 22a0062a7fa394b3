import { setImmediate, setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import fc from "fast-check";
import type { Clock } from "#core/ports/clock.ts";
import { makeRoomFor } from "#host/supervisor.ts";
import { BestOf } from "#util/best-of.ts";
import { keepNewest, rememberBy } from "#util/caches.ts";
import { systemClock } from "#util/clock.ts";
import { readAudioFormat, readImageFacts } from "#util/media-format.ts";
import { nearestName } from "#util/nearest-name.ts";
import { parseRetryAfter } from "#util/retry-after.ts";
import { createSlots, KeyedQueue } from "#util/turns.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { randomNumbers } from "../helpers/memory-rows.ts";
import { jpeg, png, wav, webp } from "../helpers/service-servers.ts";

describe("BestOf", () => {
  it("returns the kept slots best first, the higher of equals first, and empties the heap", () => {
    const best = new BestOf(20);
    for (const round of [1_000, 7, 5]) {
      for (let slot = 0; slot < 300; slot++) best.offer((slot * 7919) % round, slot);
      const sorted = Array.from({ length: 300 }, (_, slot) => ({ slot, score: (slot * 7919) % round }));
      sorted.sort((a, b) => b.score - a.score || b.slot - a.slot);
      expect(best.take()).toEqual(sorted.slice(0, 20));
      expect(best.slots()).toEqual([]);
    }
  });

  it("keeps nothing with capacity 0, and everything below its capacity", () => {
    const none = new BestOf(0);
    none.offer(1, 1);
    expect(none.slots()).toEqual([]);
    const some = new BestOf(10);
    const next = randomNumbers(3);
    for (let slot = 0; slot < 4; slot++) some.offer(next(), slot);
    expect(some.slots().sort()).toEqual([0, 1, 2, 3]);
  });
});

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

  it("does not sleep for no time, and when it is already aborted", async () => {
    const clock = make();
    for (const ms of [0, -5]) await expect(clock.sleep(ms)).resolves.toBeUndefined();
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

describe("KeyedQueue", () => {
  it("runs the work of one key in order, one at a time, and other keys meanwhile", async () => {
    const queue = new KeyedQueue();
    const log: string[] = [];
    const work = (name: string, ms: number) => async () => {
      log.push(`${name} starts`);
      await setTimeout(ms);
      log.push(`${name} ends`);
    };
    await Promise.all([queue.run("a", work("a1", 30)), queue.run("a", work("a2", 0)), queue.run("b", work("b1", 0))]);
    expect(log.filter((line) => line.startsWith("a"))).toEqual(["a1 starts", "a1 ends", "a2 starts", "a2 ends"]);
    expect(log.indexOf("b1 ends")).toBeLessThan(log.indexOf("a1 ends"));
  });

  it("rejects as the work does, and goes on with the next", async () => {
    const queue = new KeyedQueue();
    const failed = queue.run("a", () => Promise.reject(new Error("no")));
    const next = queue.run("a", async () => "yes");
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });
});

it("keepNewest deletes the oldest entries, and a repeated key counts as new", () => {
  const map = new Map<string, number>();
  for (const [at, key] of ["a", "b", "a", "c", "d"].entries()) keepNewest(map, key, at, 3);
  expect(Object.fromEntries(map)).toEqual({ a: 2, c: 3, d: 4 });
});

const date = "Fri, 20 Nov 2026 12:00:00 GMT";
it.each<[Record<string, string>, number | null]>([
  [{}, null],
  [{ "retry-after": "3" }, 3_000],
  [{ "retry-after": " 1.5 " }, 1_500],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "86400" }, 86_400_000],
  [{ "retry-after": "-5" }, null],
  [{ "retry-after": "" }, null],
  [{ "retry-after": "a while" }, null],
  [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", date }, 30_000],
  [{ "retry-after": "Fri, 20 Nov 2026 11:00:00 GMT", date }, 0],
  [{ "retry-after": "Fri, 20 Nov 2026 12:00:30 GMT" }, null],
  [{ "retry-after-ms": "120" }, 120],
  [{ "retry-after-ms": "0.4", "retry-after": "9" }, 1],
  [{ "retry-after-ms": "x", "retry-after": "9" }, 9_000],
  [{ "retry-after-ms": "", "retry-after": "9" }, 9_000],
])("parseRetryAfter parses %j", (headers, expected) => {
  expect(parseRetryAfter(new Headers(headers))).toBe(expected);
});

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
const settle = (): Promise<void> => setImmediate();

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

  it("never start work that is aborted before it or in the queue", async () => {
    const { slots, begun, start, end } = steps(1);
    const leaving = new AbortController();
    void start(1);
    const second = start(2, leaving.signal);
    void start(3);
    await settle();
    leaving.abort(new Error("no longer"));
    await expect(second).rejects.toThrow("no longer");
    end(1);
    await settle();
    end(3);
    await settle();
    await expect(start(4, leaving.signal)).rejects.toThrow("no longer");
    expect([begun, slots.active]).toEqual([[1, 3], 0]);
  });

  it("never run more than the limit, and lose no work, in any order of calls, aborts and ends", async () => {
    const leaving = fc.array(fc.boolean(), { maxLength: 40 });
    const property = fc.asyncProperty(fc.integer({ min: 1, max: 4 }), leaving, async (limit, leaves) => {
      const slots = createSlots(limit);
      let most = 0;
      const work = async (): Promise<string> => {
        most = Math.max(most, slots.active);
        await settle();
        return "done";
      };
      const ended = leaves.map((isLeaving) => {
        const signal = new AbortController();
        const held = slots.hold(work, signal.signal).catch(() => "left");
        if (isLeaving) signal.abort();
        return held;
      });
      expect((await Promise.all(ended)).every((end) => end === "done" || end === "left")).toBe(true);
      expect([most <= limit, slots.active, slots.queued]).toEqual([true, 0, 0]);
    });
    await fc.assert(property, { numRuns: 50 });
  });
});

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

describe("readImageFacts", () => {
  it.each([
    ["PNG", png(300, 200), { format: "png", width: 300, height: 200 }],
    ["JPEG", jpeg(640, 480), { format: "jpeg", width: 640, height: 480 }],
    ["WebP, lossy", webp("VP8 ", 512, 256), { format: "webp", width: 512, height: 256 }],
    ["WebP, lossless", webp("VP8L", 16_383, 7), { format: "webp", width: 16_383, height: 7 }],
    ["GIF", bytesOf("GIF89a\x80\x02\xe0\x01 and more"), { format: "gif", width: 640, height: 480 }],
    ["WebP, extended", webp("VP8X", 70_000, 3), { format: "webp", width: 70_000, height: 3 }],
  ])("reads the format and size of a %s", (_name, bytes, facts) => {
    expect(readImageFacts(bytes)).toEqual(facts);
    // Also inside a larger buffer.
    const around = Buffer.concat([Buffer.from("before"), bytes, Buffer.from("after")]);
    expect(readImageFacts(new Uint8Array(around.buffer, around.byteOffset + 6, bytes.length))).toEqual(facts);
  });

  it.each([
    ["nothing", bytesOf("")],
    ["a web page", bytesOf("<html><body>not a picture, but long enough for one</body></html>")],
    ["SVG", bytesOf('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"></svg>')],
    ["GIF of an unknown version", bytesOf("GIF90b\x01\x00\x01\x00 and more of it, so that nothing is missing")],
    ["a PNG of width 0", png(0, 10)],
    ["JPEG segments without end", bytesOf(`\xff\xd8${"\xff\xe0\x00\x00".repeat(10)}`)],
    ["JPEG of padding only", bytesOf(`\xff\xd8${"\xff".repeat(1_000)}`)],
    ["sound in a RIFF file", wav()],
  ])("returns undefined for %s", (_name, bytes) => expect(readImageFacts(bytes)).toBeUndefined());

  it("returns undefined for an image that ends too early", () => {
    for (const bytes of [png(10, 10), jpeg(10, 10), webp("VP8X", 10, 10)])
      for (let length = 0; length < 24; length++)
        expect(readImageFacts(bytes.subarray(0, length))?.format).toBe(undefined);
  });
});

it.each([
  ["RIFF with wav", wav(), "wav"],
  ["mp3 with tags", bytesOf("ID3\x04\x00"), "mp3"],
  ["mp3", Uint8Array.of(0xff, 0xfb, 0x90, 0x64), "mp3"],
  ["m4a", bytesOf("\x00\x00\x00\x20ftypM4A "), "m4a"],
  ["ogg", bytesOf("OggS\x00"), "ogg"],
  ["flac", bytesOf("fLaC\x00"), "flac"],
  ["webm", bytesOf("\x1aE\xdf\xa3"), "webm"],
  ["nothing", bytesOf(""), undefined],
  ["text", bytesOf("Hello, this is a text"), undefined],
  ["a PNG", png(2, 2), undefined],
  ["a JPEG", jpeg(2, 2), undefined],
  ["WebP, which is RIFF like wav", webp("VP8X", 2, 2), undefined],
  ["text in UTF-16", Uint8Array.of(0xff, 0xfe, 0x41, 0x00), undefined],
  ["bytes that are all set", new Uint8Array(16).fill(0xff), undefined],
])("readAudioFormat recognizes sound, and nothing else: %s", (_name, bytes, format) => {
  expect(readAudioFormat(bytes)).toBe(format);
});

/** Returns what is left, a minute later, of an object that nothing holds. */
async function leftAfterAMinute(): Promise<object | undefined> {
  const left = new WeakRef({ of: "an agent" });
  // A new WeakRef holds its object until the end of the task.
  await settle();
  jest.advanceTimersByTime(60_000);
  return left.deref();
}

/** Whether an object is left after one of five minutes: V8 may collect by itself in some. */
async function isAnythingLeft(): Promise<boolean> {
  for (let minutes = 0; minutes < 5; minutes++) if (await leftAfterAMinute()) return true;
  return false;
}

describe("the heap of a host", () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["setImmediate"] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it("is collected after the last agent, although nothing allocates any more", async () => {
    makeRoomFor(1);
    makeRoomFor(0);
    expect(await leftAfterAMinute()).toBeUndefined();
  });

  it("is collected each minute while many agents run, and not again while they only wait", async () => {
    makeRoomFor(17);
    makeRoomFor(18);
    expect(await leftAfterAMinute()).toBeUndefined();
    expect(await isAnythingLeft()).toBe(true);
    makeRoomFor(16);
    expect(jest.getTimerCount()).toBe(0);
  });

  it("is not collected while an agent is left", () => {
    for (const agents of [1, 0, 1]) makeRoomFor(agents);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe("a function with a cache by object", () => {
  it("computes once for the same object and inputs, and again for others and for an equal object", () => {
    const joined: string[] = [];
    const join = rememberBy((key: { readonly name: string }, suffix: string): string => {
      joined.push(key.name + suffix);
      return key.name + suffix;
    });
    const key = { name: "a" };
    const results = [join(key, "1"), join(key, "1"), join(key, "2"), join({ name: "a" }, "2"), join(key, "2")];
    expect(results).toEqual(["a1", "a1", "a2", "a2", "a2"]);
    expect(joined).toEqual(["a1", "a2", "a2"]);
  });

  it("keeps undefined, and nothing of a call that throws", () => {
    let calls = 0;
    const find = rememberBy((_key: object): undefined => {
      calls++;
      if (calls === 1) throw new Error("not yet");
    });
    const key = {};
    expect(() => find(key)).toThrow("not yet");
    expect([find(key), find(key)]).toEqual([undefined, undefined]);
    expect(calls).toBe(2);
  });
});

it("nearestName finds no name that shares nothing with a short text", () => {
  expect(["ls", "12"].map((typed) => nearestName(typed, ["fin", "ps", "q"]))).toEqual(["ps", undefined]);
});
