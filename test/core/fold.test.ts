import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ReplyForm } from "#core/agent-settings.ts";
import { type Effect, type OpenCall, outcomeUnknown } from "#core/call.ts";
import { decide } from "#core/decide.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { describeRestored, evolve, type FilesRestored, replay } from "#core/evolve.ts";
import { SHORT_TERM_MESSAGES, SHOWN_ACTIONS, shownWindow } from "#core/frames.ts";
import { spentOf } from "#core/limits.ts";
import { type AgentState, activeFrame, initialState, openCommand, STATE_VERSION } from "#core/state.ts";
import { checkStoredEvent, EVENT_FIELDS } from "#core/stored-event.ts";
import { HEAD_CHARS } from "#core/text.ts";
import { canonicalJson } from "#util/json.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, rejected, requested, approved, started, finished, observed, modelFailed, log } = given;
const { interrupted, isolated, cutOff, denied, paused, waits, said, turnEnded, turnStarted, wholeStep } = given;
const { stateOf, rulesOf, NOW, RESUMED } = given;
const FAILED = observed("no such file", { status: "failed" });
/** The state of a new agent after these events. */
const stateAfter = (...events: readonly NewEvent[]) => stateOf(created(), ...events);
const windowAfter = (...events: readonly NewEvent[]) => activeFrame(stateAfter(...events)).window;
const stepsOf = (count: number): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => wholeStep(index + 1)).flat();

describe("evolve", () => {
  it("cuts the window only when it exceeds the batch, so that its beginning stays the same in between", () => {
    const events = log(created({ windowBatch: 6 }), ...stepsOf(30));
    const windows = events.map((_event, at) => activeFrame(replay(events.slice(0, at + 1))).window);
    const lengths = windows.map(({ length }) => length);
    expect(Math.max(...lengths)).toBe(SHORT_TERM_MESSAGES + 6);
    expect(Math.min(...lengths.slice(lengths.indexOf(SHORT_TERM_MESSAGES)))).toBe(SHORT_TERM_MESSAGES);
    const beginnings = new Set(windows.slice(lengths.indexOf(SHORT_TERM_MESSAGES)).map(([first]) => first?.seq));
    expect(beginnings.size).toBe(Math.ceil((60 - SHORT_TERM_MESSAGES - 6) / 7) + 1);
  });

  it("keeps the last nine messages and no more", () => {
    const lastSteps = [9, 10, 11, 12].flatMap((step) => [`reply ${step}`, `result ${step}`]);
    expect(windowAfter(...stepsOf(12)).map(({ text }) => text)).toEqual(["result 8", ...lastSteps]);
  });

  it.each<[title: string, events: NewEvent[], expected: object]>([
    ["a reply", [replied(1, "hello")], { kind: "reply", from: "", source: "model", text: "hello", step: 1 }],
    ["a problem with a reply", [rejected()], { kind: "problem", from: "goald", text: "No JSON object was found." }],
    ["a result", [requested(), finished()], { kind: "result", from: "write_to_file", status: "ok" }],
    ["a failed result", [requested(), finished(1, FAILED)], { kind: "result", status: "failed" }],
    [
      "a person's words instead of a yes",
      [requested(), denied("use another name", "person")],
      { kind: "feedback", from: "person", status: "denied", text: "use another name" },
    ],
    ["a policy's denial", [requested("gone"), denied("not here")], { kind: "result", from: "gone", status: "denied" }],
    ["a person's message", [said("hurry")], { kind: "feedback", from: "ada", source: "person" }],
  ])("adds to the window: %s", (_title, events, expected) => {
    expect(windowAfter(...events).at(-1)).toMatchObject(expected);
  });

  it("keeps a call open from its request to its result, and ignores the start of another", () => {
    const unknown = stateAfter(started());
    expect([unknown.open, activeFrame(unknown).phase.kind]).toEqual([[], "thinking"]);
    const until = (...events: NewEvent[]) => openCommand(stateAfter(...events), "c1");
    expect(until(requested())).toMatchObject({ kind: "command", call: { name: "write_to_file" } });
    expect(until(requested(), approved(), started())?.intent).toMatchObject({ attempt: 1, effect: "idempotent" });
    expect(until(requested(), approved(), started(), finished())).toBeUndefined();
  });

  it("counts a step once, and sums up the model's usage, marked when a part was estimated", () => {
    expect(stateAfter(asked(1), asked(1, 2), asked(1, 3), replied(1)).step).toBe(1);
    const estimated = { ...replied(2), usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, estimated: true } };
    const { usage } = stateAfter(asked(1), replied(1), asked(2), estimated);
    expect(usage).toEqual({ modelCalls: 2, inputTokens: 11, outputTokens: 6, cachedTokens: 2, estimated: true });
  });

  it("gives the same state from a snapshot as from the beginning", () => {
    const events = log(created(), ...wholeStep(1), asked(2), replied(2), rejected(2), ...wholeStep(3));
    for (let at = 0; at <= events.length; at++) {
      const snapshot = JSON.parse(JSON.stringify(replay(events.slice(0, at))));
      expect(replay(events.slice(at), snapshot)).toEqual(replay(events));
    }
  });

  it("tells the model that its goals changed, and withdraws approvals given in advance, as a person's words do", () => {
    expect(stateAfter(given.approvalsGranted(3), said("Call it d.")).grantedApprovals).toBe(0);
    const state = stateAfter(given.approvalsGranted(3), { type: "goals-changed", goals: ["b"] });
    expect(state).toMatchObject({ goals: ["b"], grantedApprovals: 0 });
    const text = expect.stringContaining("goals were changed");
    expect(activeFrame(state).window).toEqual([
      { seq: 3, step: 0, kind: "feedback", from: "goald", source: "goald", status: null, text },
    ]);
  });

  it("begins a new turn without traces of the last one's end", () => {
    const state = stateOf(created({ stepLimit: 9 }), ...wholeStep(1), turnEnded(), turnStarted());
    expect(state).toMatchObject({ turn: 2, step: 1, settings: { stepLimit: 9 } });
    expect(activeFrame(state)).toMatchObject({ phase: { kind: "thinking" }, window: [] });
  });

  it("keeps words that open a later turn apart from the messages, nine at most, and words that come later among them", () => {
    const first = Array.from({ length: 10 }, (_none, index) => `first ${index}`);
    const state = stateAfter(
      ...[said("before"), ...wholeStep(1), turnEnded(), turnStarted()],
      ...[...first.map((text) => said(text)), ...wholeStep(2), said("later")],
    );
    expect(state.asked.map(({ text }) => text)).toEqual(first.slice(0, 9));
    const window = activeFrame(state).window.map(({ text }) => text);
    expect(window).toEqual(["first 9", "reply 2", "result 2", "later"]);
  });

  it("resets the counters that made the agent stop when it is resumed", () => {
    const events = [rejected(), modelFailed(), ...wholeStep(1), interrupted(), rejected(), modelFailed()];
    const [before, resumed] = [stateAfter(...events), stateAfter(...events, RESUMED)];
    expect([before.deaths, resumed.deaths]).toEqual([1, 0]);
    expect(activeFrame(before)).toMatchObject({ badReplies: 1, modelFailures: 1, repetition: { count: 1 } });
    expect(activeFrame(resumed)).toMatchObject({ badReplies: 0, modelFailures: 0, repetition: null });
  });

  it("accepts events in any order, and keeps the state small", () => {
    const anyEvent = fc.constantFrom<NewEvent>(
      ...[created(), asked(), replied(), rejected(), requested(), approved(), started(), finished(), RESUMED],
      ...[modelFailed(), modelFailed(1, null), modelFailed(1, null, "unauthorized"), asked(1, 2, 2), denied()],
      ...[
        { ...asked(2), reservedUsd: 0.5 },
        { ...replied(2), costUsd: 0.1 },
        { ...finished(), closesTurn: true },
      ],
      ...[requested("read_file", 2, { file: "b" }), interrupted(2), interrupted(3, 2), waits("time"), paused()],
      ...[given.approvalsGranted(3), given.approvalAsked(), said("b"), turnStarted(), turnEnded("")],
      { type: "repetition-noticed", step: 1, callId: "c1", count: 3 },
      { type: "goals-changed", goals: ["another"] },
      { type: "settings-changed", tokenLimit: 5, budgetUsd: 1, deadline: "soon", model: "m", background: true },
      { type: "settings-changed", approve: "risky" },
      { type: "settings-changed", stepLimit: 5 },
    );
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const state = stateOf(...events);
        expect(JSON.stringify(state).length).toBeLessThan(SHORT_TERM_MESSAGES * (HEAD_CHARS + 500));
        for (const count of [state.grantedApprovals, state.deaths, state.costUsd, state.lost.tokens, state.lost.usd])
          expect(count).toBeGreaterThanOrEqual(0);
        const { tokens, usd } = spentOf(state);
        expect([tokens, usd].every(Number.isFinite)).toBe(true);
        for (const epoch of [1, 4]) expect(decide(state, rulesOf({ epoch }), new Date(given.AT)).kind).toBeTruthy();
      }),
    );
  });

  it("does not modify the state that it is given", () => {
    const frozen = deepFreeze(structuredClone(initialState));
    expect(() =>
      log(created(), ...wholeStep(1)).reduce((state, event) => deepFreeze(evolve(state, event)), frozen),
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

describe("short-term memory", () => {
  const shownAfter = (form: ReplyForm, ...events: readonly NewEvent[]) => {
    const state = stateOf(created({ form }), ...events);
    return shownWindow(state, activeFrame(state));
  };
  const words = (count: number) => Array.from({ length: count }, (_, at) => said(`word ${at}`));
  const stepsIn = (window: ReturnType<typeof shownAfter>) => [...new Set(window.map(({ step }) => step))];

  it("keeps the last ten actions with their observations in the form plan: of 12 actions, 3 to 12", () => {
    const window = shownAfter("plan", ...stepsOf(12));
    expect(window).toHaveLength(2 * SHOWN_ACTIONS);
    expect(stepsIn(window)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("keeps words that a person wrote between two actions, and is bounded however many they are", () => {
    const some = shownAfter("plan", ...stepsOf(12), ...words(3));
    expect(stepsIn(some)).toHaveLength(10);
    expect(some.filter(({ kind }) => kind === "feedback")).toHaveLength(3);
    const many = shownAfter("plan", ...stepsOf(12), ...words(200));
    expect(many.length).toBeLessThan(60);
    expect(many.at(-1)?.text).toBe("word 199");
  });

  it("shows nine messages at once when the form changes to json", () => {
    const toForm = (form: ReplyForm): NewEvent => ({ type: "settings-changed", form });
    expect(shownAfter("plan", ...stepsOf(12), toForm("json"))).toHaveLength(SHORT_TERM_MESSAGES);
    expect(stepsIn(shownAfter("plan", ...stepsOf(12), toForm("json"), toForm("plan")))).toHaveLength(10);
  });
});

describe("a restoration of files", () => {
  const restored: FilesRestored = {
    type: "files-restored",
    toStep: 3,
    more: 0,
    changes: [
      { path: "notes.md", change: "written" },
      { path: "other.md", change: "removed" },
    ],
  };
  const planned: NewEvent = { type: "task-added", parent: "0", task: { goal: "Find three strings" }, by: "person" };

  it("is a message of goald with the step and the names, once, and in the next turn of a finished agent", () => {
    const text =
      "A person put files in your folder back as they were after step 3. Rewritten: notes.md. Removed: other.md. Your plan is unchanged. Look at these files before you rely on them.";
    const message = { kind: "feedback", from: "goald", source: "goald", text };
    expect(windowAfter(...wholeStep(1), restored).at(-1)).toMatchObject(message);
    expect(describeRestored({ ...restored, more: 7 })).toContain("Removed: other.md. And 7 more. Your");
    const late = [...wholeStep(1), turnEnded(), restored];
    expect(activeFrame(stateAfter(...late)).phase.kind).toBe("resting");
    expect(windowAfter(...late, turnStarted())).toMatchObject([message]);
    expect(windowAfter(restored, ...wholeStep(1), turnEnded(), turnStarted())).toEqual([]);
  });

  it("changes neither the plan nor the turn, and ends approvals that were given ahead", () => {
    const before = [planned, given.approvalsGranted(3)];
    const [was, is] = [stateAfter(...before), stateAfter(...before, restored)];
    expect([was.grantedApprovals, is.grantedApprovals]).toEqual([3, 0]);
    expect([is.plan, is.turn]).toEqual([was.plan, was.turn]);
    expect(is.plan).not.toBeNull();
  });
});

describe("crash counting", () => {
  const begun = (step = 1, epoch = 1, effect: Effect = "pure"): NewEvent[] => [
    ...[requested("hammer", step, { step }), approved(step), started(effect, step, epoch)],
  ];
  /** The same command was interrupted by three process deaths in a row, twice while no other suspect's command ran. */
  const threeDeaths: NewEvent[] = [
    ...[...begun(), interrupted(2), isolated(2), started("pure", 1, 2)],
    ...[interrupted(3), isolated(3), started("pure", 1, 3), interrupted(4)],
  ];
  const pauses = { kind: "record", events: [{ type: "agent-paused", code: "crash-loop" }] };
  const decided = (state: AgentState, epoch: number, effect: Effect = "pure") =>
    decide(state, rulesOf({ epoch, facts: () => ({ annotations: given.FACTS, effect }) }), NOW);
  const nestedEnd: NewEvent = { ...finished(), callId: "c1.1", frame: 1 };

  it("runs a command again after two process deaths, and pauses the agent after three, whatever the effect", () => {
    expect(stateAfter(...begun(), interrupted(2)).deaths).toBe(1);
    expect(decided(stateAfter(...threeDeaths.slice(0, -3)), 3)).toMatchObject({ kind: "execute" });
    const third = stateAfter(...threeDeaths);
    expect(third.deaths).toBe(3);
    for (const effect of ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"] as const)
      expect(decided(third, 4, effect)).toMatchObject(pauses);
    // It names the command and how to resume.
    const reason = /died 3 times in a row .* the last time in hammer\. .*goald logs .*goald resume/;
    expect(decided(third, 4)).toMatchObject({ events: [{ reason: expect.stringMatching(reason) }] });
  });

  it("resets the count when a person resumes the agent, and continues with the same call", () => {
    const resumed = stateAfter(...threeDeaths, paused("crash-loop"), RESUMED);
    expect(resumed.deaths).toBe(0);
    expect(decided(resumed, 4)).toMatchObject({ kind: "execute", callId: "c1", attempt: 2 });
    expect(decided(resumed, 5)).toMatchObject({ events: [{ type: "call-interrupted", epoch: 5 }] });
  });

  it("counts deaths during commands whose outcome stays unknown", () => {
    const unseen = (step: number): NewEvent[] => {
      const before = step === 1 ? [] : [isolated(step, step)];
      const events = [...begun(step, step, "at-most-once"), ...before, interrupted(step + 1, step)];
      const open = openCommand(stateAfter(...events), `c${step}`) as Extract<OpenCall, { kind: "command" }>;
      return [...events, outcomeUnknown(`c${step}`, open)];
    };
    const state = stateAfter(...unseen(1), ...unseen(2), ...unseen(3).slice(0, -1));
    expect(state.deaths).toBe(3);
    expect(decided(state, 4, "at-most-once")).toMatchObject(pauses);
  });

  const unknown = (code: string) => finished(1, observed("?", { status: "unknown", code }));
  it.each<[title: string, event: NewEvent, deaths: number]>([
    ["succeeded", finished(), 0],
    ["failed", finished(1, FAILED), 0],
    ["timed out, which goald observed", unknown("timeout"), 0],
    ["has an unknown outcome because it was cut off", unknown("interrupted"), 2],
    ["was found done afterwards", { ...finished(), reconciled: true }, 2],
  ])("resets the count only when goald observed how a command ended: this one %s", (_title, event, deaths) => {
    expect(stateAfter(...threeDeaths.slice(0, -3), event).deaths).toBe(deaths);
  });

  it("counts a death for an unknown call, which changes nothing else, and none during a model call", () => {
    expect(stateAfter(interrupted(2))).toMatchObject({ deaths: 1, open: [] });
    expect(decided(stateAfter(asked(1, 1, 1)), 2)).toMatchObject({ kind: "ask" });
    expect(stateAfter(asked(1, 1, 1), asked(1, 2, 2), asked(1, 3, 3)).deaths).toBe(0);
  });

  it("counts deaths beside commands of other agents as one, however many they are", () => {
    const state = stateAfter(...begun(), ...[2, 3, 4, 5, 6, 7].map((epoch) => interrupted(epoch)));
    expect(state).toMatchObject({ deaths: 1, interruptions: 6 });
    expect(decided(state, 7)).toMatchObject({ kind: "execute" });
  });

  it("does not count a death after the call was cleared", () => {
    const cleared: NewEvent = { type: "call-cleared", step: 1, callId: "c1" };
    const alone = [...begun(), interrupted(2), isolated(2), started("pure", 1, 2)];
    expect(stateAfter(...alone, interrupted(3)).deaths).toBe(2);
    expect(stateAfter(...alone, cleared, interrupted(3)).deaths).toBe(1);
  });

  it("counts a death in the `prepare` of an isolated call, before it has started", () => {
    const ready = [...begun(1, 1, "at-most-once"), interrupted(2), { ...finished(), reconciled: true }];
    const preparing = [...ready, requested("hammer", 2), approved(2), isolated(2, 2)];
    expect(decided(stateAfter(...preparing), 2)).toMatchObject({ kind: "execute" });
    const found = { events: [{ type: "call-interrupted", callId: "c2", epoch: 3 }] };
    expect(decided(stateAfter(...preparing), 3)).toMatchObject(found);
    expect(stateAfter(...preparing, interrupted(3, 2)).deaths).toBe(2);
  });

  it("does not count an orderly end of the process, however often: the command just runs again", () => {
    const downs = [1, 2, 3, 4].flatMap((epoch) => [started("pure", 1, epoch), cutOff(epoch)]);
    const state = stateAfter(requested("hammer"), approved(), ...downs);
    expect(state).toMatchObject({ deaths: 0, interruptions: 0 });
    expect(decided(state, 5)).toMatchObject({ kind: "execute", attempt: 2 });
    // A command of unknown effect does not run again, and a later death counts.
    expect(decided(stateAfter(...begun(1, 1, "at-most-once"), cutOff(1)), 2)).toMatchObject({
      events: [{ type: "command-finished", observation: { status: "unknown" } }],
    });
    const diedLater = stateAfter(...begun(), cutOff(1), started("pure", 1, 2));
    expect(decided(diedLater, 3)).toMatchObject({ events: [{ type: "call-interrupted" }] });
  });

  it("stays suspicious of a command while only work that is nested in it ends", () => {
    expect(stateAfter(...begun(), interrupted(2), nestedEnd).deaths).toBe(1);
    expect(stateAfter(...begun(), interrupted(2), finished()).deaths).toBe(0);
  });

  describe("of a command whose nested work ends between the deaths of the process", () => {
    /** A death while the command ran alone, and what ended when it ran again. */
    const death = (epoch: number, ...ended: NewEvent[]): NewEvent[] => [
      ...[interrupted(epoch), isolated(epoch), started("pure", 1, epoch), ...ended],
    ];
    const sixDeaths = [2, 3, 4, 5, 6, 7].flatMap((epoch) => death(epoch, nestedEnd));

    it("lets it survive six deaths, and pauses at the seventh however much ends", () => {
      expect(stateAfter(...begun(), ...sixDeaths)).toMatchObject({ deaths: 2, interruptions: 6 });
      expect(decided(stateAfter(...begun(), ...sixDeaths, interrupted(8)), 8)).toMatchObject(pauses);
    });

    it("pauses at the third death when nothing has ended since the second", () => {
      const events = [...begun(), ...death(2, nestedEnd), ...death(3), interrupted(4)];
      expect(decided(stateAfter(...events), 4)).toMatchObject(pauses);
    });

    it.each<[title: string, end: NewEvent]>([
      ["was cut off", { ...unknown("interrupted"), callId: "c1.1", frame: 1 }],
      ["was found done afterwards", { ...nestedEnd, reconciled: true } as NewEvent],
    ])("does not begin anew for a nested call that %s", (_title, end) => {
      expect(stateAfter(...begun(), ...death(2, end), ...death(3, end), interrupted(4)).deaths).toBe(3);
    });

    it("begins anew for the next command, which survives as many", () => {
      const next = [finished(), ...begun(2, 7), interrupted(8, 2)];
      expect(stateAfter(...begun(), ...sixDeaths, ...next)).toMatchObject({ deaths: 1, deathResets: 0 });
    });
  });
});

describe("the fold of a log with every type of event", () => {
  const FOLD = new URL("../data/every_event.fold.json", import.meta.url);
  const events = readFileSync(new URL("../data/every_event.jsonl", import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => checkStoredEvent(JSON.parse(line)));

  /** With the SHA-256 of the states after each event. */
  function foldOf(recorded: readonly RecordedEvent[]) {
    const hash = createHash("sha256");
    let state = initialState;
    for (const event of recorded) {
      state = evolve(state, event);
      hash.update(`${canonicalJson(state)}\n`);
    }
    return { stateVersion: STATE_VERSION, sha256: hash.digest("hex") };
  }

  /**
   * After another fold, stored snapshots would disagree with their logs: raise STATE_VERSION in src/core/state.ts (once
   * for each release), and then write the fold anew: GOLDEN=write npm test -- test/core/fold
   */
  it("changes only together with STATE_VERSION", () => {
    const now = foldOf(events);
    if (process.env.GOLDEN === "write") writeFileSync(FOLD, `${JSON.stringify(now, null, 2)}\n`);
    expect(now).toEqual(JSON.parse(readFileSync(FOLD, "utf8")));
  });

  it("is of a log that has every type that goald knows", () => {
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(Object.keys(EVENT_FIELDS)));
  });
});
