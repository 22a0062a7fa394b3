import { describe, expect, it } from "@jest/globals";
import type { NewEvent, PauseCode } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { isOver, stallLimit, standingOf, viewAgent, viewDamaged } from "#views/agent-view.ts";
import { nextStepOf } from "#views/next-step.ts";
import {
  AT,
  approved,
  asked,
  created,
  log,
  modelFailed,
  replied,
  requested,
  started,
  wholeStep,
} from "../helpers/events.ts";

const row: AgentRow = {
  id: "foo",
  name: "Foo",
  folder: "foo",
  parent: null,
  createdAt: AT,
  head: 9,
  updatedAt: AT,
  epoch: 1,
  wakeAt: null,
};
const facts = {
  workspaceFolder: "/home/workspace",
  hosted: true,
  lastCommand: null,
  stallAfterMs: () => 1_000,
  now: new Date(AT),
};
const stateAfter = (...events: readonly NewEvent[]) => replay(log(created(), ...events));
const later = (ms: number) => new Date(Date.parse(AT) + ms);

describe("the state of an agent", () => {
  it.each<[string, boolean, readonly NewEvent[]]>([
    ["running", true, []],
    ["interrupted", false, []],
    ["interrupted", false, [asked()]],
    [
      "waiting: approval",
      true,
      [asked(), replied(), requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "r" }],
    ],
    [
      "waiting: approval",
      false,
      [asked(), replied(), requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "r" }],
    ],
    ["waiting: person", true, [{ type: "command-waiting", step: 1, callId: "c1", waitFor: "person", until: null }]],
    ["waiting: time", true, [{ type: "command-waiting", step: 1, callId: "c1", waitFor: "time", until: AT }]],
    ["waiting: agent", true, [{ type: "command-waiting", step: 1, callId: "c1", waitFor: "agent", until: null }]],
    ["paused: budget", true, [{ type: "agent-paused", code: "budget", reason: "r" }]],
    ["paused: person", false, [{ type: "agent-paused", code: "person", reason: "r" }]],
    ["stopped", true, [{ type: "agent-paused", code: "stopped", reason: "r" }]],
    ["killed", false, [{ type: "agent-paused", code: "killed", reason: "r" }]],
    ["running", true, [{ type: "agent-paused", code: "killed", reason: "r" }, { type: "agent-resumed" }]],
    ["completed", false, [{ type: "turn-finished", outcome: "completed", reason: "r" }]],
  ])("is %s (a host runs it: %s)", (standing, hosted, events) => {
    expect(standingOf(stateAfter(...events), hosted)).toBe(standing);
  });

  it.each<[string, boolean]>([
    ["completed", true],
    ["stopped", true],
    ["killed", true],
    ["running", false],
    ["paused: budget", false],
    ["interrupted", false],
  ])("%s is an end state: %s", (standing, over) => {
    expect(isOver(standing)).toBe(over);
  });
});

describe("the view of an agent", () => {
  it("has the facts of the row and the log, and the folder", () => {
    expect(viewAgent(row, stateAfter(...wholeStep(1)), facts)).toEqual({
      id: "foo",
      name: "Foo",
      parent: null,
      state: "running",
      reason: null,
      received: [],
      step: 1,
      turn: 1,
      tokens: 15,
      costUsd: 0,
      background: false,
      stalledMs: null,
      lastCommand: "write_to_file",
      createdAt: AT,
      changedAt: AT,
      workspace: "/home/workspace/foo",
    });
  });

  it("contains since when a running agent has stalled, but not for a wait that may be long", () => {
    const view = (now: Date, ...events: readonly NewEvent[]) =>
      viewAgent(row, stateAfter(...events), { ...facts, now });
    expect(view(later(1_000)).stalledMs).toBeNull();
    expect(view(later(1_001)).stalledMs).toBe(1_001);
    expect(view(later(60_000), { type: "agent-paused", code: "person", reason: "r" }).stalledMs).toBeNull();
    const retry = [asked(), modelFailed(1, later(50_000).toISOString())];
    expect(view(later(50_500), ...retry).stalledMs).toBeNull();
    expect(view(later(52_000), ...retry).stalledMs).toBe(2_000);
    expect(view(later(10), ...retry).reason).toContain("The next attempt is at");
  });

  it("contains a retry and its reason, wherever the log ends", () => {
    const done: NewEvent = { type: "turn-finished", outcome: "completed", reason: "r" };
    const paused: NewEvent = { type: "agent-paused", code: "budget", reason: "r" };
    for (const events of [[], [asked()], [done], [paused]]) {
      const state = stateAfter(...events);
      const view = viewAgent(row, state, { ...facts, problem: "The disk is full.", now: later(99_999) });
      const reason = "It failed and is retried automatically. The disk is full.";
      expect(view).toMatchObject({ state: "waiting: retry", reason, stalledMs: null });
      expect(isOver(view.state)).toBe(false);
      expect(nextStepOf("foo", state, view.state).why).toBe("It failed and is retried automatically.");
    }
  });

  it("calls an agent without a host interrupted, not stalled", () => {
    const view = viewAgent(row, stateAfter(asked()), { ...facts, hosted: false, now: later(99_999) });
    expect(view).toMatchObject({ state: "interrupted", stalledMs: null });
  });

  it("gives the reason of every kind of pause", () => {
    const codes: readonly PauseCode[] = ["person", "loop", "key-refused", "crash-loop"];
    for (const code of codes)
      expect(viewAgent(row, stateAfter({ type: "agent-paused", code, reason: "because" }), facts).reason).toBe(
        "because",
      );
  });

  it("contains only the row if the log cannot be read", () => {
    expect(viewDamaged(row, "no event 3", facts)).toMatchObject({
      id: "foo",
      state: "damaged",
      reason: "no event 3",
      step: 0,
    });
  });

  it("reports a stall only after the time that the command under way may take, or else a model call", () => {
    const limit = stallLimit(300_000, { get: (name) => ({ timeoutMs: name === "slow" ? 900_000 : 5_000 }) });
    const running = (name: string) => stateAfter(asked(), replied(), requested(name), approved(), started());
    const stalled = (state: AgentState, quietMs: number): boolean =>
      viewAgent(row, state, { ...facts, stallAfterMs: limit, now: later(quietMs) }).stalledMs !== null;
    expect([stalled(running("slow"), 929_000), stalled(running("slow"), 931_000)]).toEqual([false, true]);
    expect([stalled(running("quick"), 34_000), stalled(running("quick"), 36_000)]).toEqual([false, true]);
    expect([stalled(stateAfter(asked()), 329_000), stalled(stateAfter(asked()), 331_000)]).toEqual([false, true]);
    // Without a catalogue any command may be one of the slowest.
    expect(stallLimit(1_000)(running("browse_website"))).toBeGreaterThanOrEqual(600_000);
  });

  it("shows why an agent waits for its turn after a death, and no stall meanwhile", () => {
    const waiting = { ...facts, now: later(3_600_000), waitsAlone: "ada has its turn." };
    expect(viewAgent(row, stateAfter(asked()), waiting)).toMatchObject({
      state: "waiting: recovery",
      reason: "ada has its turn.",
      stalledMs: null,
    });
  });
});
