import { describe, expect, it } from "@jest/globals";
import type { Effect } from "#core/call.ts";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { repetitionLimit } from "#core/guards.ts";
import { eventsForMessage } from "#core/inbox.ts";
import { activeFrame } from "#core/state.ts";
import * as given from "../helpers/events.ts";
import { agentTold, report, startedAgent } from "../helpers/subagent-events.ts";

const { created, asked, replied, modelFailed, rejected, requested, approved, started, finished, observed } = given;
const { interrupted, waits, denied, paused, approvalsGranted, turnEnded, stateOf, rulesOf, decided, NOW } = given;
const { RESUMED } = given;

const SAFE = given.FACTS;
const OUTSIDE = { ...SAFE, openWorld: true };
const CATALOGUE: Partial<Rules> = {
  facts: (name) =>
    name === "gone" ? undefined : { annotations: name === "send_tweet" ? OUTSIDE : SAFE, effect: "idempotent" },
};
const records = (event: object) => ({ kind: "record", events: [event] });
const pauses = (code: string) => records({ type: "agent-paused", code });
const asksAPerson = (why: RegExp) => records({ type: "approval-asked", reason: expect.stringMatching(why) });
const waitsFor = (waitFor: string, until: string | null = null) => ({ kind: "wait", waitFor, until });
const finishes = (status: string) => records({ type: "command-finished", observation: { status } });
const SECOND_TRY = { kind: "ask", step: 1, attempt: 2 };
const GONE = expect.stringContaining("gone") as unknown as string;
const ASKED = [created(), asked()];
/** task_complete as it ended the turn, and as it failed. */
const CLOSED: NewEvent = { ...finished(), closesTurn: true };
const NOT_CLOSED: NewEvent = { ...finished(1, observed("no", { status: "failed" })), closesTurn: true };
const ALWAYS = created({ approve: "always" });
const RISKY = created({ approve: "risky" });
const OPEN = [created(), requested(), approved(), started()];
const PASSED = "2026-11-20T10:00:10.000Z";
const PASSED_EAST = "2026-11-20T11:00:00+02:00";
const LATER = "2026-11-20T11:00:00.000Z";

describe("decide", () => {
  it.each<[title: string, events: NewEvent[], expected: object]>([
    ["asks the model for step 1 of a new agent", [created()], { kind: "ask", callId: "m1", step: 1, attempt: 1 }],
    ["reads a reply", [created(), asked(), replied()], { kind: "read", step: 1, reply: "{}", finishReason: "stop" }],
    ["shows a rejected reply in a new step", [created(), asked(), replied(), rejected()], { kind: "ask", step: 2 }],
    [
      "counts unreadable replies anew after a readable one",
      [created(), rejected(), rejected(), ...given.wholeStep(1), rejected()],
      { kind: "ask" },
    ],
    ["approves a safe command by policy", [created(), requested()], records(approved())],
    ["asks about every command in mode always", [ALWAYS, requested("do_nothing")], asksAPerson(/./)],
    ["approves a safe command in mode risky", [RISKY, requested()], records(approved())],
    [
      "asks about a risky command in mode risky, and says why",
      [RISKY, requested("send_tweet")],
      asksAPerson(/outside/),
    ],
    [
      "uses one approval that was given in advance for one command",
      [ALWAYS, approvalsGranted(1), requested()],
      records(approved(1, "earlier-approval")),
    ],
    [
      "asks again when the approvals given in advance are used up",
      [ALWAYS, approvalsGranted(1), requested(), approved(1, "earlier-approval"), finished(), requested("x", 2)],
      asksAPerson(/./),
    ],
    ["denies a command that is not in the catalogue", [created(), requested("gone")], records(denied(GONE))],
    ["waits for an approval without a time limit", [ALWAYS, requested(), given.approvalAsked()], waitsFor("approval")],
    ["executes an approved command", OPEN.slice(0, 3), { kind: "execute", callId: "c1", attempt: 1 }],
    [
      "begins the next step after a command",
      [created(), ...given.wholeStep(1)],
      { kind: "ask", step: 2, callId: "m2" },
    ],
    ["finishes the turn with the reason of task_complete", [created(), requested(), CLOSED], records(turnEnded())],
    ["does not finish the turn when task_complete fails", [created(), requested(), NOT_CLOSED], { kind: "ask" }],
    ["rests after a finished turn", [created(), turnEnded()], { kind: "rest" }],
    ["rests while the agent is paused", [created(), paused()], { kind: "rest" }],
    ["continues at the same phase after a resume", [created(), requested(), paused(), RESUMED], records(approved())],
    ["repeats a model call that a crash cut off", [created(), asked()], { kind: "ask", callId: "m1", attempt: 2 }],
    ["waits for the retry time after a failed model call", [...ASKED, modelFailed(1, LATER)], waitsFor("time", LATER)],
    ["repeats it at once when a person resumes", [...ASKED, modelFailed(1, LATER), RESUMED], SECOND_TRY],
    ["retries the same step when the retry time has come", [...ASKED, modelFailed(1, PASSED)], SECOND_TRY],
    [
      "pauses after the eighth failure without waiting for its retry time",
      [...ASKED, ...Array(7).fill(modelFailed()), modelFailed(1, LATER)],
      pauses("model-unreachable"),
    ],
    [
      "repeats a model call that was refused only after a person resumes",
      [...ASKED, modelFailed(1, null), paused("key-refused"), RESUMED],
      SECOND_TRY,
    ],
    ["waits for a waiting command", [...OPEN, waits("agent", LATER)], waitsFor("agent", LATER)],
    ["fails a command that waited too long for an agent", [...OPEN, waits("agent", PASSED)], finishes("failed")],
    ["finishes a command when the time that it waits for has come", [...OPEN, waits("time", PASSED)], finishes("ok")],
    ["compares times from different time zones correctly", [...OPEN, waits("time", PASSED_EAST)], finishes("ok")],
  ])("%s", (_title, events, expected) => {
    expect(decided(events, CATALOGUE)).toMatchObject(expected);
  });

  it("pauses the agent after three unreadable replies in a row, and gives the reason", () => {
    expect(decided([created(), rejected(), rejected(), rejected()])).toMatchObject(
      records({ type: "agent-paused", code: "bad-replies", reason: expect.stringContaining("3 replies") }),
    );
  });

  it("ends the wait for a retry when the clock was set back behind the failure", () => {
    const setBack = new Date("2026-11-20T09:00:30.000Z");
    expect(decide(stateOf(...ASKED, modelFailed()), rulesOf(), setBack)).toMatchObject(SECOND_TRY);
  });

  it.each<[string, NewEvent[]]>([
    ["a model call", ASKED],
    ["a command", OPEN],
  ])("does not repeat %s that the same lease began", (_title, events) => {
    expect(decided(events, { epoch: 1 })).toMatchObject(pauses("crash-loop"));
  });

  it.each(["asking", "judging", "executing", "waiting"] as const)(
    "pauses instead of looping when the log names a lost call while %s",
    (kind) => {
      const state = stateOf(created());
      const phase =
        kind === "waiting" ? { kind, callId: "c9", waitFor: "time" as const, until: null } : { kind, callId: "c9" };
      const broken = { ...state, frames: [{ ...state.frames[0], phase }] as const };
      expect(decide(broken, rulesOf(), NOW)).toMatchObject(pauses("crash-loop"));
    },
  );
});

describe("a command that was cut off by a crash", () => {
  const cutOff = (recorded: Effect, facts: Rules["facts"]) =>
    decided([created(), asked(), replied(), requested(), approved(), started(recorded), interrupted()], { facts });
  const now = (effect: Effect) => () => ({ annotations: SAFE, effect });

  it.each<[Effect, object]>([
    ["pure", { kind: "execute", attempt: 2 }],
    ["idempotent", { kind: "execute", attempt: 2 }],
    ["transactional", { kind: "execute", attempt: 2 }],
    ["reconcilable", { kind: "probe", callId: "c1" }],
    ["at-most-once", records({ observation: { status: "unknown", text: expect.stringContaining("Look before") } })],
  ])("is handled according to its effect: %s", (effect, expected) => {
    expect(cutOff(effect, now(effect))).toMatchObject(expected);
  });

  it.each<[Effect, present: Effect | "none", kind: string]>([
    ["idempotent", "at-most-once", "record"],
    ["at-most-once", "idempotent", "record"],
    ["pure", "reconcilable", "probe"],
    ["reconcilable", "pure", "probe"],
    ["pure", "none", "record"],
  ])(
    "is handled by the stricter of its recorded effect (%s) and its present effect (%s)",
    (recorded, present, kind) => {
      expect(cutOff(recorded, present === "none" ? () => undefined : now(present)).kind).toBe(kind);
    },
  );

  it("is first recorded as interrupted, once for each process death", () => {
    const found = (epoch: number, ...events: NewEvent[]) => decided([...OPEN, ...events], { epoch });
    expect(found(2)).toEqual(records({ type: "call-interrupted", step: 1, callId: "c1", epoch: 2 }));
    expect(found(2, interrupted(2)).kind).toBe("execute");
    expect(found(3, interrupted(2))).toMatchObject(records({ type: "call-interrupted", epoch: 3 }));
  });
});

type Args = Readonly<Record<string, unknown>>;
const again = (step: number, name = "search_files", args: Args = { query: "tennis" }): NewEvent[] => [
  ...[requested(name, step, args), approved(step), started("pure", step), finished(step)],
];
const fifthCall = requested("search_files", 5, { query: "tennis" });
const times = (count: number, from = 1): NewEvent[] =>
  Array.from({ length: count }, (_, at) => again(from + at)).flat();
const windowAfter = (...events: NewEvent[]) => activeFrame(stateOf(created(), ...events)).window;
const decidedIn = (...events: NewEvent[]) => decided([created(), ...events]);
const noticed: NewEvent = { type: "repetition-noticed", step: 3, callId: "c3", count: 3 };
const countOf = (...events: NewEvent[]): number => activeFrame(stateOf(created(), ...events)).repetition?.count ?? 0;

describe("repetition of a command with the same arguments", () => {
  it("is reported to the model the third time alone, after the result and before the next model call", () => {
    expect(decidedIn(...times(2))).toMatchObject({ kind: "ask" });
    expect(decidedIn(...times(3))).toEqual(records(noticed));
    expect(decidedIn(...times(3), noticed)).toMatchObject({ kind: "ask" });
    expect(decidedIn(...times(3), noticed, ...again(4))).toMatchObject({ kind: "ask" });
    const window = windowAfter(...times(3), noticed);
    expect(window.at(-2)).toMatchObject({ kind: "result", step: 3 });
    expect(window.at(-1)).toMatchObject({ kind: "feedback", from: "goald", source: "goald", status: null });
    expect(window.at(-1)?.text).toContain("search_files with the same arguments 3 times in a row");
  });

  it("pauses the agent before the fifth run and says what to do, but not to the code of a sub-task", () => {
    const reason =
      /^search_files was asked for with the same arguments 5 times in a row; the last one was not run\. .*goald say .*goald goals .*goald resume/;
    expect(decidedIn(...times(3), noticed, ...again(4), fifthCall)).toEqual(
      records({ type: "agent-paused", code: "loop", reason: expect.stringMatching(reason) }),
    );
    const frame = activeFrame(stateOf(created(), ...times(3), noticed, ...again(4), fifthCall));
    expect(repetitionLimit({ ...frame, kind: "run" }, "c5")).toMatch(/ the last one was not run\.$/);
  });

  it("is counted from one again after a person resumes, and the command that was held back runs", () => {
    const resumed = [...times(3), noticed, ...again(4), fifthCall, paused("loop"), RESUMED];
    expect(decidedIn(...resumed)).toMatchObject(records({ type: "command-approved", callId: "c5" }));
    const run = [...resumed, approved(5), started("pure", 5), finished(5)];
    expect(decidedIn(...run)).toMatchObject({ kind: "ask" });
    expect(countOf(...run, requested("search_files", 6, { query: "tennis" }))).toBe(1);
  });

  it.each<[title: string, before: number, events: NewEvent[], count: number]>([
    ["from one again after a resume", 4, [RESUMED], 1],
    ["from one again after a person's words", 4, [given.said("look again")], 1],
    ["from one again after new goals", 4, [{ type: "goals-changed", goals: ["another"] }], 1],
    ["across an unreadable reply", 2, [asked(9), replied(9), rejected(9)], 3],
    ["across a failed model call", 2, [asked(9), modelFailed(9)], 3],
    ["across a change of settings", 2, [{ type: "settings-changed", approve: "risky" }], 3],
  ])("is counted %s", (_title, before, events, count) => {
    expect(countOf(...times(before), ...events, ...again(before + 1))).toBe(count);
  });

  it.each<[title: string, events: (step: number) => NewEvent[]]>([
    ["waits", (step) => [...again(step).slice(0, 3), waits("time", null, step), finished(step)]],
    ["is denied", (step) => [requested("gone", step), denied("", "policy", step)]],
    ["does nothing", (step) => again(step, "do_nothing", {})],
  ])("is counted when the command %s", (_title, events) => {
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
    expect(decidedIn(...bothTimes(3))).toEqual(records(noticed));
    expect(windowAfter(...bothTimes(3), noticed).at(-1)?.text).toContain(
      "search_files (and 1 other command beside it) with the same arguments 3 times",
    );
    expect(decidedIn(...bothTimes(3), noticed, ...both(4), ...both(5).slice(0, 2))).toMatchObject(pauses("loop"));
  });

  it("is not counted when one of them differs, or one is missing or more", () => {
    const chess = (step: number) => both(step, { query: "chess" });
    for (const events of [chess(5), again(5)]) expect(countOf(...bothTimes(4), ...events)).toBe(1);
    expect(countOf(...times(4), ...both(5))).toBe(1);
    expect(countOf(...bothTimes(4), ...chess(5), ...chess(6))).toBe(2);
  });
});

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
])("comparison of arguments %s", (_title, one, other, expected) => {
  expect([same(one, other), same(other, one)]).toEqual([expected, expected]);
});

const asksForEnd = (step: number): readonly NewEvent[] => [
  ...[asked(step), replied(step), requested("task_complete", step, { reason: `done ${step}` })],
];
const refusals = (count: number, from = 1): readonly NewEvent[] =>
  Array.from({ length: count }, (_, at) => from + at).flatMap((step) => [
    ...asksForEnd(step),
    { ...denied("Not yet.", "policy", step), refusal: "helpers" } as const,
  ]);
const next = (...events: readonly NewEvent[]) =>
  decided([created(), ...events], {
    facts: (name) => ({ annotations: SAFE, effect: "pure", ...(name === "task_complete" ? { closesTurn: true } : {}) }),
  });
const helpers = [startedAgent("foo-ann"), startedAgent("foo-bo", 1, { name: "Bo" })];
const reports = (agent: string, status: "paused" | "finished"): NewEvent => report({ agent, status });
const ended = (agent: string): NewEvent => ({ type: "agent-ended", agent, reason: "" });

describe("a request to end the turn", () => {
  it("is refused while sub-agents work, with their names", () => {
    const reason = expect.stringContaining("Ann (foo-ann), Bo (foo-bo) still work for you");
    const refusal = { type: "command-denied", by: "policy", refusal: "helpers", reason };
    for (const later of [[], [agentTold(), reports("foo-ann", "paused")]])
      expect(next(...helpers, ...later, ...asksForEnd(1))).toMatchObject(records(refusal));
  });

  it.each<[title: string, events: readonly NewEvent[]]>([
    ["when there are none", []],
    ["when they have finished", [...helpers, reports("foo-ann", "finished"), reports("foo-bo", "finished")]],
    ["when the others are paused", [...helpers, reports("foo-ann", "finished"), reports("foo-bo", "paused")]],
    ["when it has ended them", [...helpers, ended("foo-ann"), ended("foo-bo")]],
  ])("is judged like any command %s", (_title, events) => {
    const move = next(...events, ...asksForEnd(1));
    expect(move).toMatchObject(records(expect.not.objectContaining({ refusal: "helpers" })));
  });
});

describe("an agent whose request to end the turn was refused", () => {
  const twice = [...helpers, ...refusals(2)];

  it("may do something else after the first time, and waits for a report after the second", () => {
    expect(next(...helpers, ...refusals(1))).toMatchObject({ kind: "ask", step: 2 });
    expect(next(...twice)).toEqual(waitsFor("agent"));
  });

  it("goes on with the next report, counting from the beginning, and when all that it waits for are paused", () => {
    expect(next(...twice, reports("foo-ann", "finished"))).toMatchObject({ kind: "ask", step: 3 });
    expect(next(...twice, reports("foo-ann", "finished"), ...refusals(1, 3))).toMatchObject({ kind: "ask" });
    const paused = [reports("foo-ann", "paused"), reports("foo-bo", "paused")];
    expect(next(...twice, ...paused)).toMatchObject({ kind: "ask", step: 3 });
  });

  it("is paused after the third time in a row, until a person resumes it", () => {
    const thrice = [...helpers, ...refusals(3)];
    expect(next(...thrice)).toMatchObject(
      records({ type: "agent-paused", code: "not-proven", reason: expect.stringContaining("goald say <agent>") }),
    );
    expect(next(...thrice, paused("not-proven"), RESUMED)).toMatchObject({ kind: "ask" });
    expect(next(...twice, given.said("Wait for them."), ...refusals(1, 3))).toMatchObject({ kind: "ask" });
  });
});

const decideAfter = (events: readonly NewEvent[], change: Partial<Rules> = {}) =>
  decided(events, { epoch: 1, facts: () => ({ annotations: SAFE, effect: "transactional" }), ...change });

const of = { step: 1, callId: "c1.1", frame: 1 };
const pushed: NewEvent = { type: "frame-pushed", kind: "call", ordinal: 1, hash: "h", ...of };
const OUTER = [created(), asked(), replied(), requested(), approved(), started()];
const INNER: readonly NewEvent[] = [
  ...[...OUTER, pushed, { ...requested("ask_user"), ...of }, { ...approved(), ...of }, { ...started(), ...of }],
];
const WAITING: NewEvent = { type: "command-waiting", waitFor: "person", until: null, ...of };

describe("the stack of frames", () => {
  it("finds the call of an answer below the innermost frame", () => {
    const above: NewEvent = { ...pushed, frame: 2, callId: "c1.1.1" };
    const observation = { status: "ok", text: "Paris", source: "person", artifacts: [] } as const;
    const state = stateOf(...INNER, WAITING, above);
    const answered = eventsForMessage({ type: "answer", callId: "c1.1", observation }, state);
    expect(answered).toMatchObject([{ type: "command-finished", callId: "c1.1", observation }]);
    const told = eventsForMessage({ type: "say", from: "Ann", text: "Paris" }, state);
    expect(told).toMatchObject([{ callId: "c1.1", observation }]);
  });

  it("finds the call of an approval in any frame", () => {
    const waits: NewEvent = { type: "approval-asked", reason: "", ...of };
    const state = stateOf(...OUTER, pushed, { ...requested(), ...of }, waits);
    const events = eventsForMessage({ type: "approval", callId: "c1.1", verdict: "approved" }, state);
    expect(events).toMatchObject([{ type: "command-approved", callId: "c1.1" }]);
  });

  it("counts one death once, whatever the number of frames", () => {
    const seen = (callId: string): NewEvent => ({ type: "call-interrupted", step: 1, callId, epoch: 2 });
    expect(stateOf(...INNER, seen("c1"), { ...seen("c1.1"), frame: 1 }).deaths).toBe(1);
  });

  it("drops the frames above a command that ends without them, and counts what they may have cost", () => {
    const inRun: NewEvent = { ...pushed, kind: "run" };
    const asking: NewEvent = { ...asked(2), callId: "c1.1.m1", frame: 1 };
    const state = stateOf(...OUTER, inRun, asking, finished());
    expect(state).toMatchObject({ frames: [{ id: 0, phase: { kind: "thinking" } }], open: [], lost: { tokens: 100 } });
  });

  it("counts unreadable replies of a sub-task in its own frame, and ends only the sub-task", () => {
    const rejected: NewEvent = { type: "reply-rejected", step: 2, problems: ["No JSON."], frame: 1 };
    const events = [...OUTER, { ...pushed, kind: "run" } as NewEvent, rejected, rejected, rejected];
    expect(stateOf(...events).frames.map(({ badReplies }) => badReplies)).toEqual([0, 3]);
    expect(decideAfter(events)).toMatchObject({
      events: [{ type: "frame-popped", resultSeq: null, problem: { code: "bad-replies" } }],
    });
  });
});
