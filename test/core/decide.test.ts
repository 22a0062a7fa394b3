import { describe, expect, it } from "@jest/globals";
import type { Effect } from "#core/call.ts";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import * as given from "../helpers/events.ts";

const SAFE = given.FACTS;
const OUTSIDE = { ...SAFE, openWorld: true };
const rules = (change: Partial<Rules> = {}): Rules => ({
  epoch: 2,
  facts: (name) =>
    name === "gone" ? undefined : { annotations: name === "send_tweet" ? OUTSIDE : SAFE, effect: "idempotent" },
  maxBadReplies: 3,
  maxModelFailures: 3,
  ...change,
});
const NOW = new Date("2026-11-20T10:00:30.000Z");
const { created, asked, replied, modelFailed, rejected, requested, approved, started, finished, observed } = given;
const { interrupted } = given;

describe("decide", () => {
  it("ends the wait for a retry when the clock was set back behind the failure", () => {
    const state = replay(given.log(created(), asked(), modelFailed()));
    const setBack = new Date("2026-11-20T09:00:30.000Z");
    expect(decide(state, rules(), setBack)).toMatchObject({ kind: "ask", step: 1, attempt: 2 });
  });

  it.each<[title: string, events: NewEvent[], expected: object]>([
    ["asks the model for step 1 of a new agent", [created()], { kind: "ask", callId: "m1", step: 1, attempt: 1 }],
    ["reads a reply", [created(), asked(), replied()], { kind: "read", step: 1, reply: "{}", finishReason: "stop" }],
    [
      "shows a rejected reply to the model in a new step",
      [created(), asked(), replied(), rejected()],
      { kind: "ask", step: 2, attempt: 1 },
    ],
    [
      "pauses the agent after three unreadable replies in a row, and gives the reason",
      [created(), rejected(), rejected(), rejected()],
      {
        kind: "record",
        events: [{ type: "agent-paused", code: "bad-replies", reason: expect.stringContaining("3 replies") }],
      },
    ],
    [
      "restarts the count of unreadable replies after a readable one",
      [
        created(),
        rejected(),
        rejected(),
        asked(),
        replied(),
        requested(),
        approved(),
        started(),
        finished(),
        rejected(),
      ],
      { kind: "ask" },
    ],
    [
      "approves a safe command by policy",
      [created(), requested()],
      { kind: "record", events: [{ type: "command-approved", by: "policy" }] },
    ],
    [
      "asks about every command in mode always",
      [created({ approve: "always" }), requested("do_nothing")],
      { kind: "record", events: [{ type: "approval-asked", callId: "c1" }] },
    ],
    [
      "asks about a risky command in mode risky",
      [created({ approve: "risky" }), requested("send_tweet")],
      { kind: "record", events: [{ type: "approval-asked", reason: expect.stringContaining("outside") }] },
    ],
    [
      "approves a safe command in mode risky",
      [created({ approve: "risky" }), requested()],
      { kind: "record", events: [{ type: "command-approved", by: "policy" }] },
    ],
    [
      "uses one approval that was given in advance for one command",
      [created({ approve: "always" }), { type: "approvals-granted", count: 1 }, requested()],
      { kind: "record", events: [{ type: "command-approved", by: "earlier-approval" }] },
    ],
    [
      "asks again when the approvals given in advance are used up",
      [
        created({ approve: "always" }),
        { type: "approvals-granted", count: 1 },
        requested(),
        approved(1, "earlier-approval"),
        finished(),
        requested("x", 2),
      ],
      { kind: "record", events: [{ type: "approval-asked" }] },
    ],
    [
      "denies a command that is not in the catalogue",
      [created(), requested("gone")],
      { kind: "record", events: [{ type: "command-denied", by: "policy", reason: expect.stringContaining("gone") }] },
    ],
    [
      "waits for an approval without a time limit",
      [created({ approve: "always" }), requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "" }],
      { kind: "wait", waitFor: "approval", until: null },
    ],
    [
      "executes an approved command",
      [created(), requested(), approved()],
      { kind: "execute", callId: "c1", attempt: 1 },
    ],
    [
      "begins the next step after a finished command",
      [created(), ...given.wholeStep(1)],
      { kind: "ask", step: 2, callId: "m2" },
    ],
    [
      "finishes the turn with the reason of task_complete",
      [created(), requested("task_complete"), { ...finished(1, observed("All goals reached.")), closesTurn: true }],
      { kind: "record", events: [{ type: "turn-finished", outcome: "completed", reason: "All goals reached." }] },
    ],
    [
      "does not finish the turn when task_complete fails",
      [
        created(),
        requested("task_complete"),
        { ...finished(1, observed("no", { status: "failed" })), closesTurn: true },
      ],
      { kind: "ask" },
    ],
    [
      "rests after a finished turn",
      [created(), { type: "turn-finished", outcome: "completed", reason: "" }],
      { kind: "rest" },
    ],
    [
      "rests while the agent is paused",
      [created(), { type: "agent-paused", code: "person", reason: "" }],
      { kind: "rest" },
    ],
    [
      "continues at the same phase after a resume",
      [created(), requested(), { type: "agent-paused", code: "person", reason: "" }, { type: "agent-resumed" }],
      { kind: "record", events: [{ type: "command-approved" }] },
    ],
    [
      "pauses at the step limit before the next model call",
      [created({ stepLimit: 1 }), ...given.wholeStep(1)],
      { kind: "record", events: [{ type: "agent-paused", code: "step-limit" }] },
    ],
    [
      "continues when the step limit was raised",
      [created({ stepLimit: 1 }), ...given.wholeStep(1), { type: "settings-changed", stepLimit: 2 }],
      { kind: "ask", step: 2 },
    ],
    [
      "repeats a model call that a crash cut off",
      [created(), asked()],
      { kind: "ask", step: 1, callId: "m1", attempt: 2 },
    ],
    [
      "waits for the retry time after a failed model call",
      [created(), asked(), modelFailed()],
      { kind: "wait", waitFor: "time", until: "2026-11-20T10:01:00.000Z" },
    ],
    [
      "retries the same step when the retry time has come",
      [created(), asked(), modelFailed(1, "2026-11-20T10:00:10.000Z")],
      { kind: "ask", step: 1, attempt: 2 },
    ],
    [
      "pauses after three failed model calls in a row instead of retrying",
      [created(), asked(), modelFailed(), modelFailed(), modelFailed(1, "2026-11-20T10:00:10.000Z")],
      { kind: "record", events: [{ type: "agent-paused", code: "model-unreachable" }] },
    ],
    [
      "pauses after the third failure without waiting for its retry time",
      [created(), asked(), modelFailed(), modelFailed(), modelFailed(1, "2026-11-20T23:00:00.000Z")],
      { kind: "record", events: [{ type: "agent-paused", code: "model-unreachable" }] },
    ],
    [
      "compares times from different time zones correctly",
      [
        created(),
        requested(),
        approved(),
        started(),
        { type: "command-waiting", step: 1, callId: "c1", waitFor: "time", until: "2026-11-20T11:00:00+02:00" },
      ],
      { kind: "record", events: [{ type: "command-finished", observation: { status: "ok" } }] },
    ],
    [
      "repeats a model call that was refused only after a person resumes",
      [
        created(),
        asked(),
        modelFailed(1, null),
        { type: "agent-paused", code: "key-refused", reason: "" },
        { type: "agent-resumed" },
      ],
      { kind: "ask", step: 1, attempt: 2 },
    ],
    [
      "waits for a waiting command",
      [
        created(),
        requested(),
        approved(),
        started(),
        { type: "command-waiting", step: 1, callId: "c1", waitFor: "agent", until: "2026-11-20T11:00:00.000Z" },
      ],
      { kind: "wait", waitFor: "agent", until: "2026-11-20T11:00:00.000Z" },
    ],
    [
      "records a failed observation when a command waited too long for an agent",
      [
        created(),
        requested(),
        approved(),
        started(),
        { type: "command-waiting", step: 1, callId: "c1", waitFor: "agent", until: "2026-11-20T10:00:00.000Z" },
      ],
      { kind: "record", events: [{ type: "command-finished", observation: { status: "failed" } }] },
    ],
    [
      "records an ok observation when the time that a command waits for has come",
      [
        created(),
        requested(),
        approved(),
        started(),
        { type: "command-waiting", step: 1, callId: "c1", waitFor: "time", until: "2026-11-20T10:00:00.000Z" },
      ],
      { kind: "record", events: [{ type: "command-finished", observation: { status: "ok" } }] },
    ],
  ])("%s", (_title, events, expected) => {
    expect(decide(replay(given.log(...events)), rules(), NOW)).toMatchObject(expected);
  });

  describe("a command that was cut off by a crash", () => {
    const cutOff = (recorded: Effect) =>
      replay(given.log(created(), asked(), replied(), requested(), approved(), started(recorded), interrupted()));
    const now = (effect: Effect) => rules({ epoch: 2, facts: () => ({ annotations: SAFE, effect }) });

    it.each<[Effect, object]>([
      ["pure", { kind: "execute", attempt: 2 }],
      ["idempotent", { kind: "execute", attempt: 2 }],
      ["transactional", { kind: "execute", attempt: 2 }],
      ["reconcilable", { kind: "probe", callId: "c1" }],
      [
        "at-most-once",
        {
          kind: "record",
          events: [
            {
              type: "command-finished",
              observation: { status: "unknown", text: expect.stringContaining("Look before") },
            },
          ],
        },
      ],
    ])("is handled according to its effect: %s", (effect, expected) => {
      expect(decide(cutOff(effect), now(effect), NOW)).toMatchObject(expected);
    });

    it.each<[Effect, Effect, string]>([
      ["idempotent", "at-most-once", "record"],
      ["at-most-once", "idempotent", "record"],
      ["pure", "reconcilable", "probe"],
      ["reconcilable", "pure", "probe"],
    ])("is handled by the stricter of its recorded effect (%s) and its present effect (%s)", (recorded, says, kind) => {
      expect(decide(cutOff(recorded), now(says), NOW).kind).toBe(kind);
    });

    it("is first recorded as interrupted, once for each process death", () => {
      const begun = [created(), requested(), approved(), started("pure")];
      const found = (epoch: number, ...events: NewEvent[]) =>
        decide(replay(given.log(...begun, ...events)), rules({ epoch }), NOW);
      expect(found(2)).toEqual({
        kind: "record",
        events: [{ type: "call-interrupted", step: 1, callId: "c1", epoch: 2 }],
      });
      expect(found(2, interrupted(2)).kind).toBe("execute");
      expect(found(3, interrupted(2))).toMatchObject({ events: [{ type: "call-interrupted", epoch: 3 }] });
    });

    it("is treated as at-most-once when it is gone from the catalogue", () => {
      const move = decide(cutOff("pure"), rules({ facts: () => undefined }), NOW);
      expect(move).toMatchObject({ kind: "record", events: [{ observation: { status: "unknown" } }] });
    });
  });

  it.each<[string, NewEvent[]]>([
    ["a model call", [created(), asked()]],
    ["a command", [created(), requested(), approved(), started()]],
  ])("does not repeat %s that the same lease began", (_title, events) => {
    const move = decide(replay(given.log(...events)), rules({ epoch: 1 }), NOW);
    expect(move).toMatchObject({ kind: "record", events: [{ type: "agent-paused", code: "crash-loop" }] });
  });

  it.each(["asking", "judging", "executing", "waiting"] as const)(
    "pauses instead of looping when the log names a lost call while %s",
    (kind) => {
      const state = replay(given.log(created()));
      const phase =
        kind === "waiting" ? { kind, callId: "c9", waitFor: "time" as const, until: null } : { kind, callId: "c9" };
      const broken = { ...state, frames: [{ ...state.frames[0], phase }] as const };
      expect(decide(broken, rules(), NOW)).toMatchObject({ events: [{ type: "agent-paused", code: "crash-loop" }] });
    },
  );

  it("depends only on its arguments: the same state gives the same move", () => {
    const state = replay(given.log(created(), ...given.wholeStep(1)));
    expect(decide(state, rules(), NOW)).toEqual(decide(structuredClone(state), rules(), NOW));
  });
});
