import { describe, expect, it } from "@jest/globals";
import type { EventOf, NewEvent } from "#core/event.ts";
import { receive } from "#core/inbox.ts";
import { limitReached, spentOf } from "#core/limits.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import type { Origin, Spending, SubagentMessage } from "#core/subagents/subagent-event.ts";
import { finished, observed } from "../../helpers/events.ts";
import {
  created,
  ended,
  NOW,
  report,
  SPENT,
  startedAgent,
  stateOf,
  told,
  waiting,
} from "../../helpers/subagent-events.ts";

describe("what is set aside for agents that an agent started", () => {
  const own = { steps: 1, tokens: 15, usd: 0 };
  it.each<[title: string, events: readonly NewEvent[], others: Spending]>([
    ["is all that they may spend, as long as they work", [], { steps: 20, tokens: 1_000, usd: 2 }],
    ["is what they spent when they have finished: the rest is given back", [report()], SPENT],
    ["stays set aside while they are paused", [report({ standing: "paused" })], { steps: 20, tokens: 1_000, usd: 2 }],
    [
      "is counted once, however often they tell their sums",
      [report(), report(), report({ standing: "accounts" })],
      SPENT,
    ],
    ["is set aside again when they are told to do more", [report(), told()], { steps: 25, tokens: 2_000, usd: 3 }],
    [
      "stays set aside when an answer to an older task comes after that",
      [told(), report({ heard: 1 })],
      { steps: 25, tokens: 2_000, usd: 3 },
    ],
    [
      "is settled by the answer to the newest task",
      [told(), report({ heard: 2, spent: { steps: 9, tokens: 900, usd: 1 } })],
      { steps: 9, tokens: 900, usd: 1 },
    ],
    ["stays set aside for one that was told to end and has not", [ended], { steps: 20, tokens: 1_000, usd: 2 }],
    ["is settled when it says that it has ended", [ended, report({ standing: "ended" })], SPENT],
    ["and when it had finished before it heard that", [ended, report()], SPENT],
    ["and at once when nothing was under way", [report(), ended], SPENT],
    [
      "is what they really spent where that is more",
      [report({ spent: { steps: 30, tokens: 3_000, usd: 4 } }), ended],
      { steps: 30, tokens: 3_000, usd: 4 },
    ],
    [
      "is not settled by an agent that is not its own",
      [report({ agent: "bar" })],
      { steps: 20, tokens: 1_000, usd: 2 },
    ],
  ])("%s", (_title, events, others) => {
    const spent = spentOf(stateOf(...waiting, ...events));
    expect(spent.steps).toBe(own.steps + others.steps);
    expect(spent.tokens).toBe(own.tokens + others.tokens);
    expect(spent.usd).toBeCloseTo(own.usd + others.usd, 9);
  });

  it("counts for the limit of steps, and is named when that is reached", () => {
    const limited = (stepLimit: number): AgentState =>
      stateOf(...waiting, { type: "settings-changed", stepLimit }, finished());
    expect(limitReached(limited(22), 2, NOW)).toBeUndefined();
    const reached = limitReached(limited(21), 2, NOW);
    expect(reached).toMatchObject({ code: "step-limit" });
    expect(reached?.reason).toContain("20 of them taken by or set aside for the agents");
  });

  it("is nothing for an agent without limits, as long as it has told nothing", () => {
    const boundless = startedAgent("foo-ann", 1, { stepLimit: null, tokenLimit: null, budgetUsd: null });
    expect(spentOf(stateOf(created(), boundless))).toEqual({ steps: 0, tokens: 0, usd: 0 });
    expect(spentOf(stateOf(created(), boundless, report({ standing: "accounts" })))).toEqual(SPENT);
  });

  it("leaves no trace of one that has ended but the sum of what it spent: the state stays small", () => {
    const events = Array.from({ length: 50 }, (_, at) => [
      startedAgent(`foo-${at}`),
      report({ agent: `foo-${at}` }),
      { ...ended, agent: `foo-${at}` } as NewEvent,
    ]).flat();
    const state = stateOf(created(), ...events);
    expect(state.children).toEqual({});
    expect(state.endedSpent).toEqual({ steps: 150, tokens: 15_000, usd: 25 });
  });
});

describe("an agent that another one started", () => {
  const origin: Origin = { agent: "foo", depth: 1, tainted: false };
  const born = [created({ startedBy: origin })];
  const task: Extract<SubagentMessage, { type: "task" }> = {
    type: "task",
    from: "Foo",
    text: "more",
    tainted: false,
    reach: { stepLimit: 30, tokenLimit: null, budgetUsd: null, deadline: null },
  };
  const rest: NewEvent = { type: "turn-finished", outcome: "completed", reason: "counted" };
  const paused = (code: EventOf<"agent-paused">["code"]): NewEvent => ({ type: "agent-paused", code, reason: "why" });
  const types =
    (...events: readonly NewEvent[]) =>
    (message: InboxMessage) =>
      receive(message, stateOf(...events)).map(({ type }) => type);

  it("inherits that text from outside was read", () => {
    expect(stateOf(created({ startedBy: { ...origin, tainted: true } })).tainted).toBe(true);
    expect(stateOf(...born).tainted).toBe(false);
    expect(stateOf(...born, { type: "task-received", from: "Foo", text: "x", tainted: true }).tainted).toBe(true);
  });

  it.each<[title: string, events: readonly NewEvent[], expected: readonly string[]]>([
    ["is heard in the next step of one that works", born, ["settings-changed", "task-received"]],
    [
      "opens the next turn of one that has finished",
      [...born, rest],
      ["settings-changed", "turn-started", "task-received"],
    ],
    [
      "lets one go on that had no room left",
      [...born, paused("step-limit")],
      ["settings-changed", "agent-resumed", "task-received"],
    ],
    ["never one that a person stopped", [...born, paused("stopped")], ["settings-changed", "task-received"]],
    ["never one whose key was refused", [...born, paused("key-refused")], ["settings-changed", "task-received"]],
  ])("a task %s", (_title, events, expected) => {
    expect(types(...events)(task)).toEqual(expected);
    const state = stateOf(...events, ...receive(task, stateOf(...events)));
    expect(state.settings.stepLimit).toBe(30);
    expect(state.heard).toBe(2);
    expect(activeFrame(state).window.at(-1)).toMatchObject({
      kind: "task",
      from: "Foo",
      source: "agent",
      text: "more",
    });
  });

  it("changes nothing of its policy by a task, whatever the message holds", () => {
    const reach = { stepLimit: 30, tokenLimit: null, budgetUsd: null, deadline: null, approve: "never" } as const;
    const sly: InboxMessage = { ...task, reach };
    const state = stateOf(...born, ...receive(sly, stateOf(...born)));
    expect(state.settings.approve).toBe("risky");
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: readonly string[]]>([
    ["stops with the one that started it", born, { type: "halt", reason: "r" }, ["agent-paused"]],
    ["not when it stands already", [...born, paused("budget")], { type: "halt", reason: "r" }, []],
    [
      "is asked about more when the one that started it is",
      born,
      { type: "policy", approve: "always" },
      ["settings-changed"],
    ],
    ["never about less", born, { type: "policy", approve: "never" }, []],
    ["goes on with it", [...born, paused("parent")], { type: "go-on" }, ["agent-resumed"]],
    ["not when a person stopped it itself", [...born, paused("stopped")], { type: "go-on" }, []],
    ["ends, also when it stands", [...born, paused("budget")], { type: "end", reason: "r" }, ["agent-paused"]],
    [
      "ends with all that it has started",
      [...born, startedAgent("foo-ann-bo")],
      { type: "end", reason: "r" },
      ["agent-ended", "agent-paused"],
    ],
    ["has nothing to end when it has finished", [...born, rest], { type: "end", reason: "r" }, []],
  ])("%s", (_title, events, message, expected) => {
    expect(types(...events)(message)).toEqual(expected);
  });

  it("remembers the files of this turn for its answer, each once, the newest last, and no more than twenty", () => {
    const wrote = (step: number, path: string): NewEvent => finished(step, observed("", { artifacts: [path] }));
    expect(stateOf(...born, wrote(1, "a"), wrote(2, "b"), wrote(3, "a")).made).toEqual(["b", "a"]);
    const many = Array.from({ length: 30 }, (_, at) => wrote(at, `f${at}`));
    expect(stateOf(...born, ...many).made).toHaveLength(20);
    expect(stateOf(...born, ...many, rest, { type: "turn-started", turn: 2 }).made).toEqual([]);
    expect(stateOf(created(), ...many).made).toEqual([]);
  });
});
