import { describe, expect, it } from "@jest/globals";
import { decide, type Rules } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import * as given from "../helpers/events.ts";
import { NOW, report, startedAgent } from "../helpers/subagent-events.ts";

const RULES: Rules = {
  epoch: 2,
  facts: (name) => ({
    annotations: given.FACTS,
    effect: "pure",
    ...(name === "task_complete" ? { closesTurn: true } : {}),
  }),
  maxBadReplies: 3,
  maxModelFailures: 3,
};
const asks = (step: number): readonly NewEvent[] => [
  given.asked(step),
  given.replied(step),
  given.requested("task_complete", step, { reason: `done ${step}` }),
];
const refused = (step: number): NewEvent => ({
  type: "command-denied",
  step,
  callId: `c${step}`,
  by: "policy",
  reason: "Not yet.",
  refusal: "helpers",
});
const refusals = (count: number, from = 1): readonly NewEvent[] =>
  Array.from({ length: count }, (_, at) => [...asks(from + at), refused(from + at)]).flat();
const next = (...events: readonly NewEvent[]) => decide(replay(given.log(given.created(), ...events)), RULES, NOW);
const helpers = [startedAgent("foo-ann"), startedAgent("foo-bo", 1, { name: "Bo" })];
const paused = (agent: string): NewEvent => report({ agent, status: "paused" });
const finished = (agent: string): NewEvent => report({ agent, status: "finished", tasksReceived: 1 });

describe("a request to end the turn", () => {
  it("is refused while sub-agents work, with their names", () => {
    expect(next(...helpers, ...asks(1))).toMatchObject({
      kind: "record",
      events: [
        {
          type: "command-denied",
          by: "policy",
          refusal: "helpers",
          reason: expect.stringContaining("Ann (foo-ann), Bo (foo-bo) still work for you"),
        },
      ],
    });
  });

  it.each<[title: string, events: readonly NewEvent[]]>([
    ["when there are none", []],
    ["when they have finished", [...helpers, finished("foo-ann"), finished("foo-bo")]],
    ["when those that have not finished are paused", [...helpers, finished("foo-ann"), paused("foo-bo")]],
    ["when it has ended them", [...helpers, ended("foo-ann"), ended("foo-bo")]],
  ])("is judged like any command %s", (_title, events) => {
    const move = next(...events, ...asks(1));
    expect(move).toMatchObject({ kind: "record", events: [expect.not.objectContaining({ refusal: "helpers" })] });
  });
});

describe("an agent whose request to end the turn was refused", () => {
  it("may do something else after the first time, and waits for a report after the second", () => {
    expect(next(...helpers, ...refusals(1))).toMatchObject({ kind: "ask", step: 2 });
    expect(next(...helpers, ...refusals(2))).toEqual({ kind: "wait", waitFor: "agent", until: null });
  });

  it("goes on with the next report, and counts from the beginning", () => {
    expect(next(...helpers, ...refusals(2), finished("foo-ann"))).toMatchObject({ kind: "ask", step: 3 });
    expect(next(...helpers, ...refusals(2), finished("foo-ann"), ...refusals(1, 3))).toMatchObject({ kind: "ask" });
  });

  it("goes on when the sub-agents that it waits for are paused", () => {
    const move = next(...helpers, ...refusals(2), paused("foo-ann"), paused("foo-bo"));
    expect(move).toMatchObject({ kind: "ask", step: 3 });
  });

  it("is paused after the third time in a row, until a person resumes it", () => {
    const refusedThrice = [...helpers, ...refusals(3)];
    expect(next(...refusedThrice)).toMatchObject({
      events: [{ type: "agent-paused", code: "not-proven", reason: expect.stringContaining("goald say <agent>") }],
    });
    const pause: NewEvent = { type: "agent-paused", code: "not-proven", reason: "" };
    expect(next(...refusedThrice, pause, { type: "agent-resumed" })).toMatchObject({ kind: "ask" });
    const words: NewEvent = { type: "message-received", from: "ada", text: "Wait for them." };
    expect(next(...helpers, ...refusals(2), words, ...refusals(1, 3))).toMatchObject({ kind: "ask" });
  });
});

function ended(agent: string): NewEvent {
  return { type: "agent-ended", agent, reason: "" };
}
