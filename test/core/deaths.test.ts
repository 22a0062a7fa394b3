import { describe, expect, it } from "@jest/globals";
import type { Effect } from "#core/call.ts";
import { decide, outcomeUnknown, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { type OpenCall, openCommand } from "#core/state.ts";
import * as given from "../helpers/events.ts";

const { created, requested, approved, started, interrupted, finished, asked, observed, log } = given;
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
/** Three processes in a row that died while the same command ran. */
const thrice: NewEvent[] = [
  ...begun(),
  interrupted(2),
  started("pure", 1, 2),
  interrupted(3),
  started("pure", 1, 3),
  interrupted(4),
];

describe("a process that dies while a command runs", () => {
  it("is counted once, and by every later process that finds it so", () => {
    expect(stateOf(...begun(), interrupted(2)).deaths).toBe(1);
    expect(stateOf(...thrice).deaths).toBe(3);
  });

  it("twice is not enough to leave the agent alone", () => {
    expect(decide(stateOf(...thrice.slice(0, -2)), rules(3), NOW)).toMatchObject({ kind: "execute" });
  });

  it("three times parks it, with the command and how to go on", () => {
    expect(decide(stateOf(...thrice), rules(4), NOW)).toEqual({
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

  it("before it is run once more, whatever its effect", () => {
    for (const effect of ["pure", "idempotent", "transactional", "reconcilable", "at-most-once"] as const)
      expect(decide(stateOf(...thrice), rules(4, effect), NOW)).toMatchObject({ events: [{ code: "crash-loop" }] });
  });

  it("starts to count anew when a person resumes: the call goes on where it stood", () => {
    const pause: NewEvent = { type: "agent-paused", code: "crash-loop", reason: "" };
    const resumed = stateOf(...thrice, pause, { type: "agent-resumed" });
    expect(resumed.deaths).toBe(0);
    expect(decide(resumed, rules(4), NOW)).toMatchObject({ kind: "execute", callId: "c1", attempt: 2 });
    expect(decide(resumed, rules(5), NOW)).toMatchObject({ events: [{ type: "call-interrupted", epoch: 5 }] });
  });

  it("in three commands of which nobody can tell the end parks it too", () => {
    const cutOff = (step: number): NewEvent[] => {
      const events = [...begun(step, step, "at-most-once"), interrupted(step + 1, step)];
      const open = openCommand(stateOf(...events), `c${step}`) as Extract<OpenCall, { kind: "command" }>;
      return [...events, outcomeUnknown(`c${step}`, open)];
    };
    const state = stateOf(...cutOff(1), ...cutOff(2), ...cutOff(3).slice(0, -1));
    expect(state.deaths).toBe(3);
    expect(decide(state, rules(4, "at-most-once"), NOW)).toMatchObject({ events: [{ code: "crash-loop" }] });
  });

  it.each<[title: string, event: NewEvent, deaths: number]>([
    ["came to its end", finished(), 0],
    ["failed", finished(1, observed("no", { status: "failed" })), 0],
    ["took too long, which goald lived to see", finished(1, observed("?", { status: "unknown", code: "timeout" })), 0],
    ["is unknown, since it was cut off", finished(1, observed("?", { status: "unknown", code: "interrupted" })), 2],
    ["was found done afterwards", { ...finished(), reconciled: true }, 2],
  ])("is forgotten when a command came to its end: this one %s", (_title, event, deaths) => {
    expect(stateOf(...thrice.slice(0, -2), event).deaths).toBe(deaths);
  });

  it("is not counted for a model call: asking kills nobody", () => {
    expect(decide(stateOf(asked(1, 1, 1)), rules(2), NOW)).toMatchObject({ kind: "ask" });
    expect(stateOf(asked(1, 1, 1), asked(1, 2, 2), asked(1, 3, 3)).deaths).toBe(0);
  });

  it("is counted for a call that is not known any more, and changes nothing else", () => {
    const { deaths, open } = stateOf(interrupted(2));
    expect({ deaths, open }).toEqual({ deaths: 1, open: [] });
  });
});
