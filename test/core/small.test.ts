import { describe, expect, it } from "@jest/globals";
import { stricterEffect } from "#core/call.ts";
import { defineCommand, fail, succeed, wait } from "#core/command.ts";
import { EXIT, GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import { isRisky, judge } from "#core/policy.ts";
import { checkStoredEvent } from "#core/stored-event.ts";
import { clip, headOf, isBlobRef, oneLine, wellFormed } from "#core/text.ts";
import { created, FACTS, finished, log, observed, requested } from "../helpers/events.ts";

describe("policy", () => {
  it.each([
    ["a read of the workspace", { ...FACTS, readOnly: true }, false],
    ["a read of the web", { ...FACTS, readOnly: true, openWorld: true }, false],
    ["a write", FACTS, false],
    ["an overwrite that the history can restore", { ...FACTS, destructive: true, restorable: true }, false],
    ["an overwrite that cannot be restored", { ...FACTS, destructive: true }, true],
    ["an act outside the workspace", { ...FACTS, openWorld: true }, true],
  ])("judges %s (%j) as risky: %s", (_title, facts, risky) => {
    expect(isRisky(facts)).toBe(risky);
  });

  it("names text from outside as a reason to ask", () => {
    const tainted = replay(
      log(created({ approve: "risky" }), requested(), finished(1, observed("x", { source: "web" }))),
    );
    const call = { name: "send_tweet", args: {} };
    expect(judge(call, { annotations: { ...FACTS, openWorld: true } }, tainted)).toMatchObject({
      reason: expect.stringContaining("text from outside"),
    });
    expect(
      judge(call, { annotations: { ...FACTS, destructive: true } }, replay(log(created({ approve: "risky" })))),
    ).toMatchObject({
      kind: "ask",
      reason: "It destroys what cannot be restored.",
    });
  });
});

describe("text", () => {
  it("clip keeps both ends and counts the characters left out", () => {
    const clipped = clip(`start${"x".repeat(500)}end`, 200);
    expect(clipped.length).toBeLessThanOrEqual(200);
    expect(clipped).toMatch(/^start[\s\S]*characters left out[\s\S]*end$/);
    expect(clip("short", 200)).toBe("short");
  });
  it("clip and oneLine never leave half a surrogate pair", () => {
    for (let limit = 40; limit < 80; limit++) expect(clip("😀".repeat(60), limit).isWellFormed()).toBe(true);
    expect(oneLine("😀".repeat(60), 11).isWellFormed()).toBe(true);
  });
  it("oneLine folds white space into one line", () => {
    expect(oneLine(" a\n\n b\tc ", 20)).toBe("a b c");
    expect(oneLine("abcdefghij", 5)).toBe("abcd…");
    // Text behind many blanks is not searched for, but marked as left out.
    expect(oneLine(`a${" ".repeat(18)}😀 b`, 5)).toBe("a \ufffd…");
    expect(oneLine(`a${" ".repeat(50)}b`, 5)).toBe("a…");
    expect(oneLine(`a${" ".repeat(50)}`, 5)).toBe("a");
  });
  it("wellFormed replaces NUL and lone surrogates, and nothing else", () => {
    expect(wellFormed("a\u0000b\uD800c é 漢 😀")).toBe("a\uFFFDb\uFFFDc é 漢 😀");
  });
  it("clip states exactly how much it left out, and never exceeds its limit", () => {
    for (const limit of [0, 5, 30, 60, 100, 999])
      expect(clip("x".repeat(1000), limit).length).toBeLessThanOrEqual(limit);
    const clipped = clip("x".repeat(1000), 100);
    const shown = clipped.match(/x/g)?.length ?? 0;
    expect(clipped).toContain(`${1000 - shown} characters left out`);
  });
  it("oneLine finds words behind a lot of white space", () => {
    expect(oneLine(`${" ".repeat(5000)}the answer is 42`, 40)).toBe("the answer is 42");
  });
  it("isBlobRef rejects objects that only resemble a reference", () => {
    for (const forged of [
      { blob: "../x", bytes: 1, head: "" },
      { blob: "ab".repeat(32), head: "" },
      { blob: "ab".repeat(32), bytes: 1 },
    ])
      expect(isBlobRef(forged)).toBe(false);
  });
  it("headOf returns the head of a stored text", () => {
    const ref = { blob: "ab".repeat(32), bytes: 9, head: "begin" };
    expect([headOf(ref), headOf("whole"), isBlobRef(ref), isBlobRef("x"), isBlobRef(null)]).toEqual([
      "begin",
      "whole",
      true,
      false,
      false,
    ]);
  });
});

describe("a stored event", () => {
  const [event] = log(created());
  it("of the current version is accepted as it is", () => {
    expect(checkStoredEvent(event as never)).toBe(event);
  });
  it.each([
    ["an event of a newer version", { v: 99 }, "GOALD_STORE_TOO_NEW"],
    ["an event without a version", { type: "agent-created" }, "GOALD_STORE_DAMAGED"],
    ["an event of version zero", { v: 0 }, "GOALD_STORE_DAMAGED"],
    ["an event without a type", { v: 1 }, "GOALD_STORE_DAMAGED"],
    ["an event of a type that a newer goald writes", { v: 1, type: "agent-promoted" }, "GOALD_STORE_TOO_NEW"],
    ["a type that every object inherits", { v: 1, type: "toString" }, "GOALD_STORE_TOO_NEW"],
  ])("rejects %s", (_title, stored, code) => {
    expect(() => checkStoredEvent(stored)).toThrow(expect.objectContaining({ code }));
  });
  it("names the unknown type, its event and what to do", () => {
    expect(() => checkStoredEvent({ v: 1, type: "agent-promoted", seq: 7 })).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/"agent-promoted" \(event 7\)/),
        hint: expect.stringContaining("a newer one"),
      }),
    );
  });
});

describe("errors", () => {
  it("have a code, a hint and an exit code", () => {
    const error = new GoaldError("GOALD_USAGE", "Expected up to five goals, got six.", {
      hint: "Leave one out.",
      cause: 1,
    });
    expect([error.exitCode, error.hint, error.cause, isGoaldError(error), isGoaldError(error, "GOALD_CONFIG")]).toEqual(
      [EXIT.usage, "Leave one out.", 1, true, false],
    );
  });
  it("are made from any thrown value", () => {
    expect([toError("x").message, toError({ a: 1 }).message, toError(undefined).message]).toEqual([
      "x",
      '{"a":1}',
      "undefined",
    ]);
    const error = new Error("kept");
    expect(toError(error)).toBe(error);
  });
});

describe("a command", () => {
  it("derives its argument types from the schema", () => {
    const command = defineCommand({
      name: "greet",
      label: "Greet",
      summary: "Greets.",
      args: {
        type: "object",
        properties: {
          who: { type: "string", description: "" },
          times: { type: "integer", description: "" },
          tags: { type: "array", description: "", items: { type: "string" } },
        },
        required: ["who"],
      },
      annotations: FACTS,
      run: async ({ who, times, tags }) => {
        const count: number | undefined = times;
        const list: readonly string[] | undefined = tags;
        return succeed(who.repeat(count ?? 1) + (list ?? []).join());
      },
    });
    // @ts-expect-error who is required
    void (() => command.run({ times: 1 }, null as never, null));
    // @ts-expect-error who is a string
    void (() => command.run({ who: 1 }, null as never, null));
    expect(command.name).toBe("greet");
  });
  it("returns ok, failed or waiting", () => {
    expect(succeed("a", { artifacts: ["b"] })).toEqual({ status: "ok", text: "a", source: "goald", artifacts: ["b"] });
    expect(fail("no", "a")).toMatchObject({ status: "failed", code: "no" });
    expect(wait("time", null)).toEqual({ status: "waiting", waitFor: "time", until: null });
  });
  it("takes the stricter of two effects", () => {
    expect([stricterEffect("pure", "at-most-once"), stricterEffect("reconcilable", "idempotent")]).toEqual([
      "at-most-once",
      "reconcilable",
    ]);
  });
});
