import { describe, expect, it } from "@jest/globals";
import type { Effect } from "#core/call.ts";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { OpenCall } from "#core/open-call.ts";
import { type AgentState, openCommand } from "#core/state.ts";
import { outcomeUnknown } from "#core/unknown-outcome.ts";
import * as given from "../helpers/events.ts";

const { created, requested, approved, started, interrupted, isolated, cutOff, finished, asked, observed, log } = given;
const rules = (epoch: number, effect: Effect = "pure"): Rules => ({
  epoch,
  facts: () => ({ annotations: given.FACTS, effect }),
  maxBadReplies: 3,
  maxModelFailures: 3,
});
const NOW = new Date("2026-11-20T10:00:30.000Z");
const stateOf = (...events: NewEvent[]) => replay(log(created(), ...events));
const begun = (step = 1, epoch = 1, effect: Effect = "pure"): NewEvent[] => [
  requested("hammer", step, { step }),
  approved(step),
  started(effect, step, epoch),
];
/** The same command was interrupted by three process deaths in a row, twice while no other suspect's command ran. */
const threeDeaths: NewEvent[] = [
  ...begun(),
  interrupted(2),
  isolated(2),
  started("pure", 1, 2),
  interrupted(3),
  isolated(3),
  started("pure", 1, 3),
  interrupted(4),
];
const interruptionOf = (state: AgentState, epoch: number) => decide(state, rules(epoch), NOW);

describe("crash counting", () => {
  it("counts each process death once, whichever process finds it", () => {
    expect(stateOf(...begun(), interrupted(2)).deaths).toBe(1);
    expect(stateOf(...threeDeaths).deaths).toBe(3);
  });

  it("runs a command again after two process deaths", () => {
    expect(decide(stateOf(...threeDeaths.slice(0, -3)), rules(3), NOW)).toMatchObject({ kind: "execute" });
  });

  it("pauses the agent after three process deaths, and names the command and how to resume", () => {
    expect(decide(stateOf(...threeDeaths), rules(4), NOW)).toEqual({
      kind: "record",
      events: [
        {
          type: "agent-paused",
          code: "crash-loop",
          reason: expect.stringMatching(
            /died 3 times in a row .* the last time in hammer\. .*goald logs .*goald resume/,
          ),
        },
      ],
    });
  });

  it("pauses before it runs the command once more, whatever the command's effect", () => {
    for (const effect of ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"] as const)
      expect(decide(stateOf(...threeDeaths), rules(4, effect), NOW)).toMatchObject({
        events: [{ code: "crash-loop" }],
      });
  });

  it("resets the count when a person resumes the agent, and continues with the same call", () => {
    const pause: NewEvent = { type: "agent-paused", code: "crash-loop", reason: "" };
    const resumed = stateOf(...threeDeaths, pause, { type: "agent-resumed" });
    expect(resumed.deaths).toBe(0);
    expect(decide(resumed, rules(4), NOW)).toMatchObject({ kind: "execute", callId: "c1", attempt: 2 });
    expect(decide(resumed, rules(5), NOW)).toMatchObject({ events: [{ type: "call-interrupted", epoch: 5 }] });
  });

  it("counts deaths during commands whose outcome stays unknown", () => {
    const unseen = (step: number): NewEvent[] => {
      const before = step === 1 ? [] : [isolated(step, step)];
      const events = [...begun(step, step, "at-most-once"), ...before, interrupted(step + 1, step)];
      const open = openCommand(stateOf(...events), `c${step}`) as Extract<OpenCall, { kind: "command" }>;
      return [...events, outcomeUnknown(`c${step}`, open)];
    };
    const state = stateOf(...unseen(1), ...unseen(2), ...unseen(3).slice(0, -1));
    expect(state.deaths).toBe(3);
    expect(decide(state, rules(4, "at-most-once"), NOW)).toMatchObject({ events: [{ code: "crash-loop" }] });
  });

  it.each<[title: string, event: NewEvent, deaths: number]>([
    ["succeeded", finished(), 0],
    ["failed", finished(1, observed("no", { status: "failed" })), 0],
    ["timed out, which goald observed", finished(1, observed("?", { status: "unknown", code: "timeout" })), 0],
    [
      "has an unknown outcome because it was cut off",
      finished(1, observed("?", { status: "unknown", code: "interrupted" })),
      2,
    ],
    ["was found done afterwards", { ...finished(), reconciled: true }, 2],
  ])("resets the count only when goald observed how a command ended: this one %s", (_title, event, deaths) => {
    expect(stateOf(...threeDeaths.slice(0, -3), event).deaths).toBe(deaths);
  });

  it("does not count a death during a model call", () => {
    expect(decide(stateOf(asked(1, 1, 1)), rules(2), NOW)).toMatchObject({ kind: "ask" });
    expect(stateOf(asked(1, 1, 1), asked(1, 2, 2), asked(1, 3, 3)).deaths).toBe(0);
  });

  it("counts a death for an unknown call, and changes nothing else", () => {
    const { deaths, open } = stateOf(interrupted(2));
    expect({ deaths, open }).toEqual({ deaths: 1, open: [] });
  });

  it("counts deaths beside commands of other agents as one, however many they are", () => {
    const state = stateOf(...begun(), ...[2, 3, 4, 5, 6, 7].map((epoch) => interrupted(epoch)));
    expect(state).toMatchObject({ deaths: 1, interruptions: 6 });
    expect(interruptionOf(state, 7)).toMatchObject({ kind: "execute" });
  });

  it("does not count a death after the call was cleared", () => {
    const cleared: NewEvent = { type: "call-cleared", step: 1, callId: "c1" };
    const alone = [...begun(), interrupted(2), isolated(2), started("pure", 1, 2)];
    expect(stateOf(...alone, interrupted(3)).deaths).toBe(2);
    expect(stateOf(...alone, cleared, interrupted(3)).deaths).toBe(1);
  });

  it("counts a death in the `prepare` of an isolated call, before it has started", () => {
    const ready = [...begun(1, 1, "at-most-once"), interrupted(2), { ...finished(), reconciled: true }];
    const preparing = [...ready, requested("hammer", 2), approved(2), isolated(2, 2)];
    expect(interruptionOf(stateOf(...preparing), 2)).toMatchObject({ kind: "execute" });
    expect(interruptionOf(stateOf(...preparing), 3)).toMatchObject({
      events: [{ type: "call-interrupted", callId: "c2", epoch: 3 }],
    });
    expect(stateOf(...preparing, interrupted(3, 2)).deaths).toBe(2);
  });

  it("does not count an orderly end of the process, however often: the command just runs again", () => {
    const downs = [1, 2, 3, 4].flatMap((epoch) => [started("pure", 1, epoch), cutOff(epoch)]);
    const state = stateOf(requested("hammer"), approved(), ...downs);
    expect(state).toMatchObject({ deaths: 0, interruptions: 0 });
    expect(interruptionOf(state, 5)).toMatchObject({ kind: "execute", attempt: 2 });
    expect(interruptionOf(stateOf(...begun(1, 1, "at-most-once"), cutOff(1)), 2)).toMatchObject({
      events: [{ type: "command-finished", observation: { status: "unknown" } }],
    });
  });

  it("counts a death after an orderly end", () => {
    const events = [...begun(), cutOff(1), started("pure", 1, 2)];
    expect(interruptionOf(stateOf(...events), 3)).toMatchObject({ events: [{ type: "call-interrupted" }] });
  });

  it("stays suspicious of a command while only work that is nested in it ends", () => {
    expect(stateOf(...begun(), interrupted(2), nestedEnd).deaths).toBe(1);
    expect(stateOf(...begun(), interrupted(2), finished()).deaths).toBe(0);
  });
});

const nestedEnd: NewEvent = { ...finished(), callId: "c1.1", frame: 1 };
/** A death while the command ran alone, and what ended when it ran again. */
const death = (epoch: number, ...ended: NewEvent[]): NewEvent[] => [
  interrupted(epoch),
  isolated(epoch),
  started("pure", 1, epoch),
  ...ended,
];
const deathsWith = (...ended: NewEvent[]): NewEvent[] => [2, 3, 4, 5, 6, 7].flatMap((epoch) => death(epoch, ...ended));

describe("a command whose nested work ends between the deaths of the process", () => {
  it("survives six deaths, and is paused at the seventh however much ends", () => {
    const six = stateOf(...begun(), ...deathsWith(nestedEnd));
    expect(six).toMatchObject({ deaths: 2, interruptions: 6 });
    const seven = stateOf(...begun(), ...deathsWith(nestedEnd), interrupted(8));
    expect(interruptionOf(seven, 8)).toMatchObject({ events: [{ code: "crash-loop" }] });
  });

  it("is paused at the third death when nothing has ended since the second", () => {
    const events = [...begun(), ...death(2, nestedEnd), ...death(3), interrupted(4)];
    expect(interruptionOf(stateOf(...events), 4)).toMatchObject({ events: [{ code: "crash-loop" }] });
  });

  it.each<[title: string, end: NewEvent]>([
    [
      "was cut off",
      { ...nestedEnd, observation: observed("?", { status: "unknown", code: "interrupted" }) } as NewEvent,
    ],
    ["was found done afterwards", { ...nestedEnd, reconciled: true } as NewEvent],
  ])("gets no new count from a nested call that %s", (_title, end) => {
    expect(stateOf(...begun(), ...death(2, end), ...death(3, end), interrupted(4)).deaths).toBe(3);
  });

  it("may be followed by a command that survives as many", () => {
    const next = [finished(), ...begun(2, 7), interrupted(8, 2)];
    expect(stateOf(...begun(), ...deathsWith(nestedEnd), ...next)).toMatchObject({ deaths: 1, deathResets: 0 });
  });
});
