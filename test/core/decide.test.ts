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
  it.each<[title: string, events: NewEvent[], expected: object]>([
    ["a new agent asks the model for step 1", [created()], { kind: "ask", callId: "m1", step: 1, attempt: 1 }],
    ["a reply is read", [created(), asked(), replied()], { kind: "read", step: 1, reply: "{}", finishReason: "stop" }],
    [
      "a rejected reply is shown to the model in a new step",
      [created(), asked(), replied(), rejected()],
      { kind: "ask", step: 2, attempt: 1 },
    ],
    [
      "three bad replies in a row pause the agent with the reason",
      [created(), rejected(), rejected(), rejected()],
      {
        kind: "record",
        events: [{ type: "agent-paused", code: "bad-replies", reason: expect.stringContaining("3 replies") }],
      },
    ],
    [
      "a readable reply in between starts the count anew",
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
      "a safe command is approved by policy",
      [created(), requested()],
      { kind: "record", events: [{ type: "command-approved", by: "policy" }] },
    ],
    [
      "every command is asked about when the person wants so",
      [created({ approve: "always" }), requested("do_nothing")],
      { kind: "record", events: [{ type: "approval-asked", callId: "c1" }] },
    ],
    [
      "a risky command is asked about in the background",
      [created({ approve: "risky" }), requested("send_tweet")],
      { kind: "record", events: [{ type: "approval-asked", reason: expect.stringContaining("outside") }] },
    ],
    [
      "a safe one is not",
      [created({ approve: "risky" }), requested()],
      { kind: "record", events: [{ type: "command-approved", by: "policy" }] },
    ],
    [
      "an approval given ahead is used up, one command each",
      [created({ approve: "always" }), { type: "approvals-granted", count: 1 }, requested()],
      { kind: "record", events: [{ type: "command-approved", by: "earlier-approval" }] },
    ],
    [
      "and then the person is asked again",
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
      "a command that is not in the catalogue is denied, not run",
      [created(), requested("gone")],
      { kind: "record", events: [{ type: "command-denied", by: "policy", reason: expect.stringContaining("gone") }] },
    ],
    [
      "an asked approval is waited for, for as long as it takes",
      [created({ approve: "always" }), requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "" }],
      { kind: "wait", waitFor: "approval", until: null },
    ],
    [
      "an approved command is executed",
      [created(), requested(), approved()],
      { kind: "execute", callId: "c1", attempt: 1 },
    ],
    [
      "a finished command leads to the next step",
      [created(), ...given.wholeStep(1)],
      { kind: "ask", step: 2, callId: "m2" },
    ],
    [
      "task_complete finishes the turn with its reason",
      [created(), requested("task_complete"), { ...finished(1, observed("All goals reached.")), closesTurn: true }],
      { kind: "record", events: [{ type: "turn-finished", outcome: "completed", reason: "All goals reached." }] },
    ],
    [
      "a failed task_complete does not",
      [
        created(),
        requested("task_complete"),
        { ...finished(1, observed("no", { status: "failed" })), closesTurn: true },
      ],
      { kind: "ask" },
    ],
    [
      "a finished turn rests",
      [created(), { type: "turn-finished", outcome: "completed", reason: "" }],
      { kind: "rest" },
    ],
    ["a paused agent rests", [created(), { type: "agent-paused", code: "person", reason: "" }], { kind: "rest" }],
    [
      "a resumed one goes on where it stood",
      [created(), requested(), { type: "agent-paused", code: "person", reason: "" }, { type: "agent-resumed" }],
      { kind: "record", events: [{ type: "command-approved" }] },
    ],
    [
      "the step limit pauses before another model call",
      [created({ stepLimit: 1 }), ...given.wholeStep(1)],
      { kind: "record", events: [{ type: "agent-paused", code: "step-limit" }] },
    ],
    [
      "a raised limit lets it go on",
      [created({ stepLimit: 1 }), ...given.wholeStep(1), { type: "settings-changed", stepLimit: 2 }],
      { kind: "ask", step: 2 },
    ],
    [
      "a question cut off by a crash is asked again",
      [created(), asked()],
      { kind: "ask", step: 1, callId: "m1", attempt: 2 },
    ],
    [
      "a failed question waits until its time",
      [created(), asked(), modelFailed()],
      { kind: "wait", waitFor: "time", until: "2026-11-20T10:01:00.000Z" },
    ],
    [
      "and is asked again then, as the same step",
      [created(), asked(), modelFailed(1, "2026-11-20T10:00:10.000Z")],
      { kind: "ask", step: 1, attempt: 2 },
    ],
    [
      "three failures in a row pause instead",
      [created(), asked(), modelFailed(), modelFailed(), modelFailed(1, "2026-11-20T10:00:10.000Z")],
      { kind: "record", events: [{ type: "agent-paused", code: "model-unreachable" }] },
    ],
    [
      "without waiting for the next attempt that will not be made",
      [created(), asked(), modelFailed(), modelFailed(), modelFailed(1, "2026-11-20T23:00:00.000Z")],
      { kind: "record", events: [{ type: "agent-paused", code: "model-unreachable" }] },
    ],
    [
      "a time in another zone is the same time",
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
      "a refusal is asked again only after a person resumes",
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
      "a command that waits is waited for",
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
      "until its time is over, which is an observation",
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
      "waiting for a time ends well",
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

  describe("finds a command cut off by a crash", () => {
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
    ])("and what follows is a matter of its effect: %s", (effect, expected) => {
      expect(decide(cutOff(effect), now(effect), NOW)).toMatchObject(expected);
    });

    it.each<[Effect, Effect, string]>([
      ["idempotent", "at-most-once", "record"],
      ["at-most-once", "idempotent", "record"],
      ["pure", "reconcilable", "probe"],
      ["reconcilable", "pure", "probe"],
    ])("the stricter of what was recorded (%s) and what the command says now (%s) holds", (recorded, says, kind) => {
      expect(decide(cutOff(recorded), now(says), NOW).kind).toBe(kind);
    });

    it("and first writes down that a process died, once for each", () => {
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

    it("and one that is gone from the catalogue is at-most-once", () => {
      const move = decide(cutOff("pure"), rules({ facts: () => undefined }), NOW);
      expect(move).toMatchObject({ kind: "record", events: [{ observation: { status: "unknown" } }] });
    });
  });

  it.each<[string, NewEvent[]]>([
    ["a question", [created(), asked()]],
    ["a command", [created(), requested(), approved(), started()]],
  ])("does not begin %s again that this very lease began", (_title, events) => {
    const move = decide(replay(given.log(...events)), rules({ epoch: 1 }), NOW);
    expect(move).toMatchObject({ kind: "record", events: [{ type: "agent-paused", code: "crash-loop" }] });
  });

  it.each(["asking", "judging", "executing", "waiting"] as const)(
    "pauses instead of spinning when the log names a lost call while %s",
    (kind) => {
      const state = replay(given.log(created()));
      const phase =
        kind === "waiting" ? { kind, callId: "c9", waitFor: "time" as const, until: null } : { kind, callId: "c9" };
      const broken = { ...state, frames: [{ ...state.frames[0], phase }] as const };
      expect(decide(broken, rules(), NOW)).toMatchObject({ events: [{ type: "agent-paused", code: "crash-loop" }] });
    },
  );

  it("reads nothing but its arguments: the same state decides the same", () => {
    const state = replay(given.log(created(), ...given.wholeStep(1)));
    expect(decide(state, rules(), NOW)).toEqual(decide(structuredClone(state), rules(), NOW));
  });
});
