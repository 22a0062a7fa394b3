import { describe, expect, it } from "@jest/globals";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { type Isolation, isolateCall } from "#loop/isolate-call.ts";
import type { Journal, Outcome } from "#loop/journal.ts";
import type { RunParts } from "#loop/run-parts.ts";
import { approved, created, interrupted, log, requested, started } from "../helpers/events.ts";
import { fakeClock } from "../helpers/fake-clock.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A journal in memory, and a turn that `enter` gives or refuses. */
function makeParts(events: readonly NewEvent[], { isGiven = true, endsEarly = true } = {}) {
  const all = [created(), requested(), approved(), ...events];
  const clock = fakeClock();
  const seen: string[] = [];
  const journal = {
    get state() {
      return replay(log(...all));
    },
    record: ({ events: more }: Outcome) => {
      all.push(...more);
      seen.push(...more.map(({ type }) => type));
    },
    commit: async () => void seen.push("commit"),
  } as unknown as Journal;
  const isolation: Isolation = {
    enter: async (backOffMs) => {
      seen.push(`enter after ${backOffMs}`);
      return isGiven;
    },
    leave: () => void seen.push("leave"),
    endsEarly,
  };
  const parts = { rules: { epoch: 9 }, clock, isolation } as unknown as RunParts;
  return { journal, parts, clock, seen };
}
const FIRST_DEATH = [started("pure"), interrupted(2)];

describe("a command of an agent that no death has made a suspect", () => {
  it("runs at once and leaves no trace of this in the log", async () => {
    const { journal, parts, seen } = makeParts([]);
    expect(await isolateCall("c1", journal, parts, async () => true)).toBe(true);
    expect(seen).toEqual([]);
  });
});

describe("a suspect's command", () => {
  it("waits for its turn, runs alone, and gives the turn away when its result is durable", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH);
    const act = async () => {
      seen.push("act");
      return true;
    };
    expect(await isolateCall("c1", journal, parts, act)).toBe(true);
    expect(seen).toEqual(["commit", "enter after 1000", "call-isolated", "commit", "act", "commit", "leave"]);
  });

  it("gives the turn away when it fails", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH);
    await expect(isolateCall("c1", journal, parts, () => Promise.reject(new Error("cut off")))).rejects.toThrow("cut");
    expect(seen.at(-1)).toBe("leave");
  });

  it("waits longer after each death that it may have caused", async () => {
    const { journal, parts, seen } = makeParts([
      ...FIRST_DEATH,
      { type: "call-isolated", step: 1, callId: "c1", epoch: 2 },
      interrupted(3),
    ]);
    await isolateCall("c1", journal, parts, async () => true);
    expect(seen[1]).toBe("enter after 4000");
  });

  it("does not run when the host shuts down before its turn", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH, { isGiven: false });
    expect(await isolateCall("c1", journal, parts, () => Promise.reject(new Error("ran")))).toBe(false);
    expect(seen).toEqual(["commit", "enter after 1000"]);
  });

  it("does not ask for a second turn for what is nested in it", async () => {
    const { journal, parts, seen } = makeParts(FIRST_DEATH);
    const inner = () => isolateCall("c1.1", journal, parts, async () => true);
    await isolateCall("c1", journal, parts, inner);
    expect(seen).toEqual(["commit", "enter after 1000", "call-isolated", "commit", "commit", "leave"]);
  });

  it.each([
    ["30 s after one death", FIRST_DEATH, 30_000],
    ["60 s after two deaths", [...FIRST_DEATH, interrupted(3)], 60_000],
  ] as const)("lets others run beside it %s, and goes on", async (_title, events, aloneMs) => {
    const { journal, parts, clock, seen } = makeParts(events);
    const end = Promise.withResolvers<boolean>();
    const running = isolateCall("c1", journal, parts, () => end.promise);
    await clock.advance(aloneMs - 1);
    expect(seen).not.toContain("leave");
    await clock.advance(1);
    await settle();
    expect(seen.slice(-3)).toEqual(["call-cleared", "commit", "leave"]);
    expect(journal.state.isolated).toBeNull();
    end.resolve(true);
    expect(await running).toBe(true);
  });

  it("stays alone to its end in a recorded run", async () => {
    const { journal, parts, clock, seen } = makeParts(FIRST_DEATH, { endsEarly: false });
    const end = Promise.withResolvers<boolean>();
    const running = isolateCall("c1", journal, parts, () => end.promise);
    await clock.advance(3_600_000);
    end.resolve(true);
    await running;
    expect(seen).toEqual(["commit", "enter after 1000", "call-isolated", "commit", "commit", "leave"]);
  });
});
