import { describe, expect, it } from "@jest/globals";
import type { EventOf, NewEvent } from "#core/event.ts";
import { receive } from "#core/inbox.ts";
import { limitReached, spentOf } from "#core/limits.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import { isTainted } from "#core/provenance.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import type { Origin, Spending, SubagentMessage } from "#core/subagents/subagent-event.ts";
import { finished, observed } from "../../helpers/events.ts";
import {
  agentTold,
  created,
  ended,
  NOW,
  report,
  SPENT,
  startedAgent,
  stateOf,
  waitingParent,
} from "../../helpers/subagent-events.ts";

describe("spending of sub-agents", () => {
  const own = { steps: 1, tokens: 15, usd: 0 };
  it.each<[title: string, events: readonly NewEvent[], others: Spending]>([
    ["counts all that they may spend while they work", [], { steps: 20, tokens: 1_000, usd: 2 }],
    ["counts only what they spent when they have finished", [report()], SPENT],
    [
      "counts all that they may spend while they are paused",
      [report({ status: "paused" })],
      { steps: 20, tokens: 1_000, usd: 2 },
    ],
    [
      "counts them once, however often they report their sums",
      [report(), report(), report({ status: "accounts" })],
      SPENT,
    ],
    [
      "counts the new share when they are given more to do",
      [report(), agentTold()],
      { steps: 25, tokens: 2_000, usd: 3 },
    ],
    [
      "keeps the new share when an answer to an older task comes",
      [agentTold(), report({ tasksReceived: 1 })],
      { steps: 25, tokens: 2_000, usd: 3 },
    ],
    [
      "counts what was spent when the answer to the newest task comes",
      [agentTold(), report({ tasksReceived: 2, spent: { steps: 9, tokens: 900, usd: 1 } })],
      { steps: 9, tokens: 900, usd: 1 },
    ],
    ["counts all that a sub-agent may spend until it has ended", [ended], { steps: 20, tokens: 1_000, usd: 2 }],
    ["counts what a sub-agent spent when it reports its end", [ended, report({ status: "ended" })], SPENT],
    ["counts what a sub-agent spent when it had finished before it was ended", [ended, report()], SPENT],
    ["counts what a sub-agent spent at once when it was idle", [report(), ended], SPENT],
    [
      "counts what was really spent when that is more than the share",
      [report({ spent: { steps: 30, tokens: 3_000, usd: 4 } }), ended],
      { steps: 30, tokens: 3_000, usd: 4 },
    ],
    [
      "ignores reports of an agent that is not a sub-agent of this one",
      [report({ agent: "bar" })],
      { steps: 20, tokens: 1_000, usd: 2 },
    ],
  ])("%s", (_title, events, others) => {
    const spent = spentOf(stateOf(...waitingParent, ...events));
    expect(spent.steps).toBe(own.steps + others.steps);
    expect(spent.tokens).toBe(own.tokens + others.tokens);
    expect(spent.usd).toBeCloseTo(own.usd + others.usd, 9);
  });

  it("counts towards the step limit, and is named when that is reached", () => {
    const limited = (stepLimit: number): AgentState =>
      stateOf(...waitingParent, { type: "settings-changed", stepLimit }, finished());
    expect(limitReached(limited(22), 2, NOW)).toBeUndefined();
    const reached = limitReached(limited(21), 2, NOW);
    expect(reached).toMatchObject({ code: "step-limit" });
    expect(reached?.reason).toContain("20 of them taken by or set aside for the agents");
  });

  it("is zero for a sub-agent without limits until it reports its sums", () => {
    const boundless = startedAgent("foo-ann", 1, { stepLimit: null, tokenLimit: null, budgetUsd: null });
    expect(spentOf(stateOf(created(), boundless))).toEqual({ steps: 0, tokens: 0, usd: 0 });
    expect(spentOf(stateOf(created(), boundless, report({ status: "accounts" })))).toEqual(SPENT);
  });

  it("keeps only the sum of ended sub-agents, so that the state stays small", () => {
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

describe("an agent that was started by another agent", () => {
  const origin: Origin = { agent: "foo", depth: 1, outside: [] };
  const subagent = [created({ startedBy: origin })];
  const task: Extract<SubagentMessage, { type: "task" }> = {
    type: "task",
    from: "Foo",
    text: "more",
    outside: [],
    limits: { stepLimit: 30, tokenLimit: null, budgetUsd: null, deadline: null },
  };
  const rest: NewEvent = { type: "turn-finished", outcome: "completed", reason: "counted" };
  const paused = (code: EventOf<"agent-paused">["code"]): NewEvent => ({ type: "agent-paused", code, reason: "why" });
  const types =
    (...events: readonly NewEvent[]) =>
    (message: InboxMessage) =>
      receive(message, stateOf(...events)).map(({ type }) => type);

  it("inherits the taint of its parent", () => {
    expect(
      isTainted(stateOf(created({ startedBy: { ...origin, outside: [{ from: "web", name: "a.example" }] } }))),
    ).toBe(true);
    expect(isTainted(stateOf(...subagent))).toBe(false);
    expect(
      isTainted(
        stateOf(...subagent, {
          type: "task-received",
          from: "Foo",
          text: "x",
          outside: [{ from: "web", name: "a.example" }],
        }),
      ),
    ).toBe(true);
  });

  it.each<[title: string, events: readonly NewEvent[], expected: readonly string[]]>([
    ["is recorded for the next step of a working agent", subagent, ["settings-changed", "task-received"]],
    [
      "opens the next turn of a finished agent",
      [...subagent, rest],
      ["settings-changed", "turn-started", "task-received"],
    ],
    [
      "resumes an agent that had reached a limit",
      [...subagent, paused("step-limit")],
      ["settings-changed", "agent-resumed", "task-received"],
    ],
    [
      "does not resume an agent that a person stopped",
      [...subagent, paused("stopped")],
      ["settings-changed", "task-received"],
    ],
    [
      "does not resume an agent whose key was refused",
      [...subagent, paused("key-refused")],
      ["settings-changed", "task-received"],
    ],
  ])("a task %s", (_title, events, expected) => {
    expect(types(...events)(task)).toEqual(expected);
    const state = stateOf(...events, ...receive(task, stateOf(...events)));
    expect(state.settings.stepLimit).toBe(30);
    expect(state.tasksReceived).toBe(2);
    const read = [...state.asked, ...activeFrame(state).window].at(-1);
    expect(read).toMatchObject({ kind: "task", from: "Foo", source: "agent", text: "more" });
  });

  it("keeps its approval mode, whatever a task message holds", () => {
    const limits = { stepLimit: 30, tokenLimit: null, budgetUsd: null, deadline: null, approve: "never" } as const;
    const forged: InboxMessage = { ...task, limits };
    const state = stateOf(...subagent, ...receive(forged, stateOf(...subagent)));
    expect(state.settings.approve).toBe("risky");
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: readonly string[]]>([
    ["pauses when its parent pauses", subagent, { type: "halt", reason: "r" }, ["agent-paused"]],
    [
      "stays as it is when its parent pauses and it is paused already",
      [...subagent, paused("budget")],
      { type: "halt", reason: "r" },
      [],
    ],
    [
      "takes a stricter approval mode from its parent",
      subagent,
      { type: "policy", approve: "always" },
      ["settings-changed"],
    ],
    ["takes the profile of its parent", subagent, { type: "policy", commands: "files" }, ["settings-changed"]],
    ["does not take a laxer approval mode from its parent", subagent, { type: "policy", approve: "never" }, []],
    ["resumes when its parent resumes", [...subagent, paused("parent")], { type: "go-on" }, ["agent-resumed"]],
    [
      "does not resume with its parent when a person stopped it",
      [...subagent, paused("stopped")],
      { type: "go-on" },
      [],
    ],
    [
      "ends on request, also when it is paused",
      [...subagent, paused("budget")],
      { type: "end", reason: "r" },
      ["agent-paused"],
    ],
    [
      "ends together with its own sub-agents",
      [...subagent, startedAgent("foo-ann-bo")],
      { type: "end", reason: "r" },
      ["agent-ended", "agent-paused"],
    ],
    ["ignores a request to end when it has finished", [...subagent, rest], { type: "end", reason: "r" }, []],
  ])("%s", (_title, events, message, expected) => {
    expect(types(...events)(message)).toEqual(expected);
  });

  it("lists this turn's files for its answer: each once, the newest last, at most twenty", () => {
    const wrote = (step: number, path: string): NewEvent => finished(step, observed("", { artifacts: [path] }));
    expect(stateOf(...subagent, wrote(1, "a"), wrote(2, "b"), wrote(3, "a")).made).toEqual(["b", "a"]);
    const many = Array.from({ length: 30 }, (_, at) => wrote(at, `f${at}`));
    expect(stateOf(...subagent, ...many).made).toHaveLength(20);
    expect(stateOf(...subagent, ...many, rest, { type: "turn-started", turn: 2 }).made).toEqual([]);
    expect(stateOf(created(), ...many).made).toEqual([]);
  });
});
