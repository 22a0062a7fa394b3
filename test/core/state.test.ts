import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import { isTainted } from "#core/provenance.ts";
import { activeFrame, initialState, openCommand } from "#core/state.ts";
import { HEAD_CHARS } from "#core/text.ts";
import { SHORT_TERM_MESSAGES } from "#core/window.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, rejected, requested, approved, started, finished, observed, log } = given;
const rules = (epoch: number): Rules => ({
  epoch,
  facts: () => ({ annotations: given.FACTS, effect: "pure" }),
  maxBadReplies: 3,
  maxModelFailures: 3,
});
const NOW = new Date(given.AT);
const windowOf = (...events: NewEvent[]) => activeFrame(replay(log(...events))).window;

describe("evolve", () => {
  it("cuts the window only when it exceeds the batch, so that its beginning stays the same in between", () => {
    const steps = Array.from({ length: 30 }, (_, index) => given.wholeStep(index + 1)).flat();
    const events = log(created({ windowBatch: 6 }), ...steps);
    const windows = events.map((_event, at) => activeFrame(replay(events.slice(0, at + 1))).window);
    const lengths = windows.map(({ length }) => length);
    expect(Math.max(...lengths)).toBe(SHORT_TERM_MESSAGES + 6);
    expect(Math.min(...lengths.slice(lengths.indexOf(SHORT_TERM_MESSAGES)))).toBe(SHORT_TERM_MESSAGES);
    const beginnings = new Set(windows.slice(lengths.indexOf(SHORT_TERM_MESSAGES)).map(([first]) => first?.seq));
    expect(beginnings.size).toBe(Math.ceil((60 - SHORT_TERM_MESSAGES - 6) / 7) + 1);
  });

  it("keeps the last nine messages and no more", () => {
    const steps = Array.from({ length: 12 }, (_, index) => given.wholeStep(index + 1)).flat();
    const texts = windowOf(created(), ...steps).map((message) => message.text);
    expect(texts).toHaveLength(SHORT_TERM_MESSAGES);
    expect(texts).toEqual([
      "result 8",
      "reply 9",
      "result 9",
      "reply 10",
      "result 10",
      "reply 11",
      "result 11",
      "reply 12",
      "result 12",
    ]);
  });

  it.each<[title: string, events: NewEvent[], expected: object]>([
    ["a reply", [replied(1, "hello")], { kind: "reply", from: "", source: "model", text: "hello", step: 1 }],
    ["a problem with a reply", [rejected()], { kind: "problem", from: "goald", text: "No JSON object was found." }],
    [
      "a result, with the command's name and status",
      [requested(), finished()],
      { kind: "result", from: "write_to_file", status: "ok" },
    ],
    [
      "a failed result",
      [requested(), finished(1, observed("no such file", { status: "failed" }))],
      { kind: "result", status: "failed" },
    ],
    [
      "a person's words instead of a yes",
      [requested(), { type: "command-denied", step: 1, callId: "c1", by: "person", reason: "use another name" }],
      { kind: "feedback", from: "person", status: "denied", text: "use another name" },
    ],
    [
      "a policy's denial, under the command's name",
      [requested("gone"), { type: "command-denied", step: 1, callId: "c1", by: "policy", reason: "not here" }],
      { kind: "result", from: "gone", status: "denied" },
    ],
    [
      "a person's message",
      [{ type: "message-received", from: "ada", text: "hurry" }],
      { kind: "feedback", from: "ada", source: "person" },
    ],
  ])("adds to the window: %s", (_title, events, expected) => {
    expect(windowOf(created(), ...events).at(-1)).toMatchObject(expected);
  });

  it("keeps a call open from its request to its result", () => {
    const until = (...events: NewEvent[]) => openCommand(replay(log(created(), ...events)), "c1");
    expect(until(requested())).toMatchObject({ kind: "command", call: { name: "write_to_file" } });
    expect(until(requested(), approved(), started())?.intent).toMatchObject({ attempt: 1, effect: "idempotent" });
    expect(until(requested(), approved(), started(), finished())).toBeUndefined();
  });

  it("sums up the model's usage, and marks it when a part was estimated", () => {
    const estimated = { ...replied(2), usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, estimated: true } };
    const { usage } = replay(log(created(), asked(1), replied(1), asked(2), estimated));
    expect(usage).toEqual({ modelCalls: 2, inputTokens: 11, outputTokens: 6, cachedTokens: 2, estimated: true });
  });

  it.each([
    ["web", true],
    ["agent", true],
    ["workspace", false],
    ["goald", false],
  ] as const)("marks the agent as tainted by text from %s: %s", (source, tainted) => {
    expect(isTainted(replay(log(created(), requested(), finished(1, observed("x", { source })))))).toBe(tainted);
  });

  it("counts a step once, whatever the number of attempts", () => {
    expect(replay(log(created(), asked(1), asked(1, 2), asked(1, 3), replied(1))).step).toBe(1);
  });

  it("ignores the start of a call that is not open", () => {
    const state = replay(log(created(), started()));
    expect(state.open).toEqual([]);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it("gives the same state from a snapshot as from the beginning", () => {
    const events = log(created(), ...given.wholeStep(1), asked(2), replied(2), rejected(2), ...given.wholeStep(3));
    for (let at = 0; at <= events.length; at++) {
      const snapshot = JSON.parse(JSON.stringify(replay(events.slice(0, at))));
      expect(replay(events.slice(at), snapshot)).toEqual(replay(events));
    }
  });

  it("tells the model that its goals changed, and withdraws approvals given in advance", () => {
    const state = replay(
      log(created(), { type: "approvals-granted", count: 3 }, { type: "goals-changed", goals: ["b"] }),
    );
    expect(state).toMatchObject({ goals: ["b"], grantedApprovals: 0 });
    expect(activeFrame(state).window).toEqual([
      {
        seq: 3,
        step: 0,
        kind: "feedback",
        from: "goald",
        source: "goald",
        status: null,
        text: expect.stringContaining("goals were changed"),
      },
    ]);
  });

  it("begins a new turn without traces of the last one's end", () => {
    const end: NewEvent = { type: "turn-finished", outcome: "completed", reason: "done" };
    const state = replay(log(created({ stepLimit: 9 }), ...given.wholeStep(1), end, { type: "turn-started", turn: 2 }));
    expect(state).toMatchObject({ turn: 2, step: 1, settings: { stepLimit: 9 } });
    expect(activeFrame(state).phase).toEqual({ kind: "thinking" });
    expect(activeFrame(state).window).toEqual([]);
  });

  it("keeps words that open a later turn apart from the messages, nine at most, and words that come later among them", () => {
    const words = (text: string): NewEvent => ({ type: "message-received", from: "ada", text });
    const end: NewEvent = { type: "turn-finished", outcome: "completed", reason: "done" };
    const first = Array.from({ length: 10 }, (_none, index) => words(`first ${index}`));
    const state = replay(
      log(
        ...[created(), words("before"), ...given.wholeStep(1), end, { type: "turn-started", turn: 2 } as const],
        ...[...first, ...given.wholeStep(2), words("later")],
      ),
    );
    expect(state.asked.map(({ text }) => text)).toEqual(first.slice(0, 9).map((_word, index) => `first ${index}`));
    const window = activeFrame(state).window.map(({ text }) => text);
    expect(window).toEqual(["first 9", "reply 2", "result 2", "later"]);
  });

  it("resets the counters that made the agent stop when it is resumed", () => {
    const events = [rejected(), given.modelFailed(), ...given.wholeStep(1), given.interrupted()];
    const before = replay(log(created(), ...events, rejected(), given.modelFailed()));
    expect(before.deaths).toBe(1);
    expect(activeFrame(before)).toMatchObject({ badReplies: 1, modelFailures: 1, repetition: { count: 1 } });
    const after = replay([...log(created(), ...events, rejected(), given.modelFailed(), { type: "agent-resumed" })]);
    const { badReplies, modelFailures, repetition } = activeFrame(after);
    const { deaths } = after;
    expect({ badReplies, modelFailures, deaths, repetition }).toEqual({
      badReplies: 0,
      modelFailures: 0,
      deaths: 0,
      repetition: null,
    });
  });

  it("accepts events in any order, and keeps the state small", () => {
    const anyEvent = fc.constantFrom<NewEvent>(
      created(),
      asked(),
      replied(),
      given.modelFailed(),
      given.modelFailed(1, null),
      given.modelFailed(1, null, "unauthorized"),
      asked(1, 2, 2),
      { ...asked(2), reservedUsd: 0.5 },
      { ...replied(2), costUsd: 0.1 },
      rejected(),
      requested(),
      requested("read_file", 2, { file: "b" }),
      approved(),
      started(),
      finished(),
      given.interrupted(2),
      given.interrupted(3, 2),
      { type: "repetition-noticed", step: 1, callId: "c1", count: 3 },
      { type: "goals-changed", goals: ["another"] },
      { type: "turn-started", turn: 2 },
      { type: "settings-changed", tokenLimit: 5, budgetUsd: 1, deadline: "soon", model: "m", background: true },
      { ...finished(), closesTurn: true },
      { type: "agent-resumed" },
      { type: "approvals-granted", count: 3 },
      { type: "approval-asked", step: 1, callId: "c1", reason: "" },
      { type: "agent-paused", code: "person", reason: "" },
      { type: "command-denied", step: 1, callId: "c1", by: "policy", reason: "" },
      { type: "message-received", from: "a", text: "b" },
      { type: "command-waiting", step: 1, callId: "c1", waitFor: "time", until: null },
      { type: "turn-finished", outcome: "completed", reason: "" },
      { type: "settings-changed", approve: "risky" },
      { type: "settings-changed", stepLimit: 5 },
    );
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const state = replay(log(...events));
        expect(JSON.stringify(state).length).toBeLessThan(SHORT_TERM_MESSAGES * (HEAD_CHARS + 500));
        for (const count of [state.grantedApprovals, state.deaths, state.costUsd, state.lost.tokens, state.lost.usd])
          expect(count).toBeGreaterThanOrEqual(0);
        const { tokens, usd } = spentOf(state);
        expect([tokens, usd].every(Number.isFinite)).toBe(true);
        for (const epoch of [1, 4]) expect(decide(state, rules(epoch), NOW).kind).toBeTruthy();
      }),
    );
  });

  it("does not modify the state that it is given", () => {
    const frozen = deepFreeze(structuredClone(initialState));
    expect(() =>
      log(created(), ...given.wholeStep(1)).reduce((state, event) => deepFreeze(evolve(state, event)), frozen),
    ).not.toThrow();
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
