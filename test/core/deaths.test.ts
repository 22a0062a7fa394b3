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
/** The same command was interrupted by three process deaths in a row. */
const threeDeaths: NewEvent[] = [
  ...begun(),
  interrupted(2),
  started("pure", 1, 2),
  interrupted(3),
  started("pure", 1, 3),
  interrupted(4),
];

describe("crash counting", () => {
  it("counts each process death once, whichever process finds it", () => {
    expect(stateOf(...begun(), interrupted(2)).deaths).toBe(1);
    expect(stateOf(...threeDeaths).deaths).toBe(3);
  });

  it("runs a command again after two process deaths", () => {
    expect(decide(stateOf(...threeDeaths.slice(0, -2)), rules(3), NOW)).toMatchObject({ kind: "execute" });
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
    expect(stateOf(...threeDeaths.slice(0, -2), event).deaths).toBe(deaths);
  });

  it("does not count a death during a model call", () => {
    expect(decide(stateOf(asked(1, 1, 1)), rules(2), NOW)).toMatchObject({ kind: "ask" });
    expect(stateOf(asked(1, 1, 1), asked(1, 2, 2), asked(1, 3, 3)).deaths).toBe(0);
  });

  it("counts a death for an unknown call, and changes nothing else", () => {
    const { deaths, open } = stateOf(interrupted(2));
    expect({ deaths, open }).toEqual({ deaths: 1, open: [] });
  });
});
