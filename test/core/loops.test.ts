import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { activeFrame } from "#core/state.ts";
import * as given from "../helpers/events.ts";

const { created, requested, approved, started, finished, rejected, asked, replied, log } = given;
const RULES: Rules = {
  epoch: 1,
  facts: () => ({ annotations: given.FACTS, effect: "pure" }),
  maxBadReplies: 99,
  maxModelFailures: 3,
};
const NOW = new Date("2026-11-20T10:00:30.000Z");
type Args = Readonly<Record<string, unknown>>;

const again = (step: number, name = "search_files", args: Args = { query: "tennis" }): NewEvent[] => [
  requested(name, step, args),
  approved(step),
  started("pure", step),
  finished(step),
];
const times = (count: number, from = 1): NewEvent[] =>
  Array.from({ length: count }, (_, at) => again(from + at)).flat();
const stateOf = (...events: NewEvent[]) => replay(log(created(), ...events));
const decided = (...events: NewEvent[]) => decide(stateOf(...events), RULES, NOW);
const noticed: NewEvent = { type: "repetition-noticed", step: 3, callId: "c3", count: 3 };
const countOf = (...events: NewEvent[]): number => activeFrame(stateOf(...events)).repetition?.count ?? 0;

describe("repetition of a command with the same arguments", () => {
  it("is accepted the second time", () => {
    expect(decided(...times(2))).toMatchObject({ kind: "ask" });
  });

  it("is reported to the model the third time, after the result and before the next model call", () => {
    expect(decided(...times(3))).toEqual({ kind: "record", events: [noticed] });
    const { window } = activeFrame(stateOf(...times(3), noticed));
    expect(window.at(-2)).toMatchObject({ kind: "result", step: 3 });
    expect(window.at(-1)).toMatchObject({ kind: "feedback", from: "goald", source: "goald", status: null });
    expect(window.at(-1)?.text).toContain("search_files with the same arguments 3 times in a row");
  });

  it("is reported only once", () => {
    expect(decided(...times(3), noticed)).toMatchObject({ kind: "ask" });
    expect(decided(...times(3), noticed, ...again(4))).toMatchObject({ kind: "ask" });
  });

  it("pauses the agent before the fifth run and says what to do", () => {
    const fourth = [...times(3), noticed, ...again(4)];
    expect(decided(...fourth, requested("search_files", 5, { query: "tennis" }))).toEqual({
      kind: "record",
      events: [
        {
          type: "agent-paused",
          code: "loop",
          reason: expect.stringMatching(
            /^search_files was asked for with the same arguments 5 times in a row; the last one was not run\. .*goald say .*goald goals .*goald resume/,
          ),
        },
      ],
    });
  });

  it("is counted from one again after a person resumes, and the command that was held back runs", () => {
    const fifth = [...times(3), noticed, ...again(4), requested("search_files", 5, { query: "tennis" })];
    const resumed: NewEvent[] = [
      ...fifth,
      { type: "agent-paused", code: "loop", reason: "" },
      { type: "agent-resumed" },
    ];
    expect(decided(...resumed)).toMatchObject({ kind: "record", events: [{ type: "command-approved", callId: "c5" }] });
    const run = [...resumed, approved(5), started("pure", 5), finished(5)];
    expect(decided(...run)).toMatchObject({ kind: "ask" });
    expect(countOf(...run, requested("search_files", 6, { query: "tennis" }))).toBe(1);
  });

  it.each<[title: string, event: NewEvent]>([
    ["a resume", { type: "agent-resumed" }],
    ["a person's words", { type: "message-received", from: "ada", text: "look again" }],
    ["new goals", { type: "goals-changed", goals: ["another"] }],
  ])("is counted from one again after %s", (_title, event) => {
    expect(countOf(...times(4), event, ...again(5))).toBe(1);
  });

  it.each<[title: string, events: NewEvent[]]>([
    ["an unreadable reply", [asked(9), replied(9), rejected(9)]],
    ["a failed model call", [asked(9), given.modelFailed(9)]],
    ["a change of settings", [{ type: "settings-changed", approve: "risky" }]],
  ])("is counted across %s", (_title, events) => {
    expect(countOf(...times(2), ...events, ...again(3))).toBe(3);
  });

  it("is counted when the command waits, is denied or does nothing", () => {
    const waits = (step: number): NewEvent[] => [
      ...again(step).slice(0, 3),
      { type: "command-waiting", step, callId: `c${step}`, waitFor: "time", until: null },
      finished(step),
    ];
    const denied = (step: number): NewEvent[] => [
      requested("gone", step),
      { type: "command-denied", step, callId: `c${step}`, by: "policy", reason: "" },
    ];
    for (const events of [waits, denied, (step: number) => again(step, "do_nothing", {})])
      expect(countOf(...[1, 2, 3].flatMap(events))).toBe(3);
  });

  it.each<[title: string, name: string, args: Args]>([
    ["another command", "read_file", { query: "tennis" }],
    ["another value", "search_files", { query: "Tennis" }],
    ["an additional argument", "search_files", { query: "tennis", folder: "" }],
    ["another argument name", "search_files", { text: "tennis" }],
    ["a list instead of a string", "search_files", { query: ["tennis"] }],
    ["null instead of a string", "search_files", { query: null }],
  ])("is not counted for %s", (_title, name, args) => {
    expect(countOf(...times(4), ...again(5, name, args))).toBe(1);
  });
});

describe("repetition of a reply with several commands", () => {
  const both = (step: number, second: Args = { query: "golf" }): NewEvent[] => {
    const [request, ...rest] = again(step);
    const further = { ...requested("search_files", step, second), callId: `c${step}-2` };
    return [request as NewEvent, further, ...rest, { ...finished(step), callId: `c${step}-2` }];
  };
  const bothTimes = (count: number): NewEvent[] => Array.from({ length: count }, (_, at) => both(at + 1)).flat();

  it("is counted when all of them are the same, and named in the notice and the pause", () => {
    expect(countOf(...bothTimes(3))).toBe(3);
    expect(decided(...bothTimes(3))).toEqual({ kind: "record", events: [noticed] });
    const { window } = activeFrame(stateOf(...bothTimes(3), noticed));
    expect(window.at(-1)?.text).toContain(
      "search_files (and 1 other command beside it) with the same arguments 3 times",
    );
    expect(decided(...bothTimes(3), noticed, ...both(4), ...both(5).slice(0, 2))).toMatchObject({
      events: [{ type: "agent-paused", code: "loop" }],
    });
  });

  it("is not counted when one of them differs, or one is missing or more", () => {
    expect(countOf(...bothTimes(4), ...both(5, { query: "chess" }))).toBe(1);
    expect(countOf(...bothTimes(4), ...again(5))).toBe(1);
    expect(countOf(...times(4), ...both(5))).toBe(1);
    expect(countOf(...bothTimes(4), ...both(5, { query: "chess" }), ...both(6, { query: "chess" }))).toBe(2);
  });
});

describe("comparison of arguments", () => {
  const blob = (letter: string, head: string) => ({ blob: letter.repeat(64), bytes: 40_000, head });
  const same = (one: Args, other: Args): boolean => countOf(requested("x", 1, one), requested("x", 2, other)) === 2;

  it.each<[title: string, one: Args, other: Args, expected: boolean]>([
    ["ignores the order of names", { a: 1, b: { c: [1, 2], d: null } }, { b: { d: null, c: [1, 2] }, a: 1 }, true],
    ["respects the order of lists", { a: [1, 2] }, { a: [2, 1] }, false],
    ["tells lists of different lengths apart", { a: [1] }, { a: [1, 2] }, false],
    ["tells a list from an object", { a: [] }, { a: {} }, false],
    ["compares long texts by their hash", { a: blob("a", "x") }, { a: blob("a", "x") }, true],
    ["tells long texts with different hashes apart", { a: blob("a", "x") }, { a: blob("b", "x") }, false],
    ["tells a long text from its beginning", { a: blob("a", "x") }, { a: "x" }, false],
    ["ignores inherited names", { toString: 1 }, { a: 1 }, false],
  ])("%s", (_title, one, other, expected) => {
    expect(same(one, other)).toBe(expected);
    expect(same(other, one)).toBe(expected);
  });

  it("treats any two objects from the same JSON text as equal", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
        const text = JSON.stringify(args);
        expect(same(JSON.parse(text), Object.fromEntries(Object.entries(JSON.parse(text)).reverse()))).toBe(true);
      }),
    );
  });
});
