import { describe, expect, it } from "@jest/globals";
import { decide, type Rules } from "#core/decide.ts";
import type { EventOf, NewEvent } from "#core/event.ts";
import { receive } from "#core/inbox.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import { isTainted } from "#core/provenance.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { grantRequest, type SubagentRequest } from "#core/subagents/requests.ts";
import type { Origin } from "#core/subagents/subagent-event.ts";
import { approved, asked, FACTS, finished, observed, replied, requested, started } from "../../helpers/events.ts";
import {
  agentTold,
  commandWaiting,
  created,
  ended,
  NOW,
  phaseOf,
  report,
  reportMessage,
  SUBAGENT_RULES,
  startedAgent,
  stateOf,
  UNTIL,
  waitingParent,
} from "../../helpers/subagent-events.ts";

const RULES: Rules = {
  epoch: 1,
  facts: () => ({ annotations: FACTS, effect: "transactional" }),
  maxBadReplies: 3,
  maxModelFailures: 3,
};

describe("a request for a sub-agent", () => {
  const wish = (name = "Ann"): SubagentRequest => ({ kind: "start", name, task: "counts", prompt: "Count to ten." });
  const of = { step: 1, callId: "c1", id: "foo-ann" };
  const granted = (state: AgentState, given_: SubagentRequest = wish(), rules = SUBAGENT_RULES) =>
    grantRequest(given_, state, rules, of);
  const limited = created({ stepLimit: 101, tokenLimit: 10_015, budgetUsd: 8, deadline: UNTIL, windowBatch: 3 });

  it("passes on the profile of commands, and none when there is none", () => {
    const profile = (commands: string | null) => {
      const event = granted(stateOf(created({ commands }), asked(), replied()));
      return "child" in event ? event.child.commands : event;
    };
    expect([profile("files,loop"), profile(null)]).toEqual(["files,loop", undefined]);
  });

  it("passes on that a plan is required, and nothing when it is free", () => {
    const mode = (plan: "free" | "required") => {
      const event = granted(stateOf(created({ plan }), asked(), replied()));
      return "child" in event ? event.child.plan : event;
    };
    expect([mode("required"), mode("free")]).toEqual(["required", undefined]);
  });

  it("is granted with a quarter of what is left, the same deadline, the fast model and the same approval mode", () => {
    expect(granted(stateOf(limited, asked(), replied()))).toEqual({
      type: "agent-started",
      step: 1,
      callId: "c1",
      agent: "foo-ann",
      task: "counts",
      child: {
        name: "Ann",
        role: "counts",
        goals: ["Count to ten."],
        approve: "risky",
        windowBatch: 3,
        form: "json",
        model: "fast-model",
        background: true,
        stepLimit: 25,
        tokenLimit: 2_500,
        budgetUsd: 2,
        deadline: UNTIL,
      },
    });
  });

  it("grants the second sub-agent a quarter of what the first one left", () => {
    const first = granted(stateOf(limited, asked(), replied())) as NewEvent;
    const second = granted(stateOf(limited, asked(), replied(), first)) as EventOf<"agent-started">;
    expect(second.child).toMatchObject({ stepLimit: 18, tokenLimit: 1_875, budgetUsd: 1.5 });
  });

  it("sets no limits when the parent has none, and keeps a budget of zero", () => {
    expect(granted(stateOf(created({ budgetUsd: 0 })))).toMatchObject({
      child: { stepLimit: null, tokenLimit: null, budgetUsd: 0, deadline: null },
    });
  });

  it.each<["always" | "risky" | "never"]>([["always"], ["risky"], ["never"]])(
    "passes on the approval mode %s",
    (approve) => {
      expect(granted(stateOf(created({ approve })))).toMatchObject({ child: { approve } });
    },
  );

  const deep: Origin = { agent: "top", depth: 2, outside: [] };
  it.each<[title: string, events: readonly NewEvent[], refused: string, words: RegExp]>([
    ["its depth limit is reached", [created({ startedBy: deep })], "agents-too-deep", /2 deep.*Do the work yourself/],
    [
      "the maximum number of sub-agents exists",
      [created(), startedAgent("foo-a"), startedAgent("foo-b"), report({ agent: "foo-b" })],
      "too-many-agents",
      /2 at a time, and have foo-a, foo-b \(finished\).*delete_agent/,
    ],
    ["too few steps are left", [created({ stepLimit: 3 })], "too-little-left", /your 3 steps, 0 are spent/],
    ["too few tokens are left", [created({ tokenLimit: 16 }), asked(), replied()], "too-little-left", /16 tokens, 15/],
    [
      "the budget is spent",
      [created({ budgetUsd: 1 }), asked(), { ...replied(), costUsd: 1 }],
      "too-little-left",
      /US dollars/,
    ],
  ])("is refused with an explanation when %s", (_title, events, refused, words) => {
    const answer = granted(stateOf(...events));
    expect(answer).toMatchObject({ refused });
    expect((answer as { text: string }).text).toMatch(words);
  });

  it("is refused when its name holds a mark that nobody sees, with the code point", () => {
    expect(granted(stateOf(created(), asked(), replied()), wish("Ann\u200b"))).toEqual({
      refused: "unseen-mark",
      text: "The name holds a mark that nobody sees (U+200B). Write it without the mark.",
    });
  });

  it("is granted again when a sub-agent has ended", () => {
    const state = stateOf(created(), startedAgent("foo-a"), startedAgent("foo-b"), report({ agent: "foo-b" }), {
      ...ended,
      agent: "foo-b",
    } as NewEvent);
    expect(granted(state)).toMatchObject({ type: "agent-started" });
  });

  it("is never granted with a depth of zero", () => {
    expect(granted(stateOf(created()), wish(), { ...SUBAGENT_RULES, maxDepth: 0 })).toMatchObject({
      refused: "agents-too-deep",
    });
  });

  it.each<[SubagentRequest]>([[{ kind: "tell", agent: "bar", text: "x" }], [{ kind: "end", agent: "constructor" }]])(
    "is refused for an agent that is not a sub-agent, with the list of its sub-agents: %j",
    (stranger) => {
      const answer = granted(stateOf(...waitingParent), stranger);
      expect(answer).toMatchObject({ refused: "no-such-agent", text: expect.stringContaining("foo-ann (Ann)") });
    },
  );

  it("keeps the limits of a working sub-agent, and gives a finished one a new share on top of what it spent", () => {
    const tell: SubagentRequest = { kind: "tell", agent: "foo-ann", text: "more" };
    expect(granted(stateOf(...waitingParent), tell)).toMatchObject({
      type: "agent-told",
      limits: { stepLimit: 20, budgetUsd: 2 },
    });
    // 100 steps, 1 own and 3 of the sub-agent are taken: a quarter of 96 more.
    expect(granted(stateOf(...waitingParent, report(), finished()), tell)).toMatchObject({
      limits: { stepLimit: 3 + 24, tokenLimit: 300 + Math.floor((10_000 - 315) / 4) },
    });
  });

  it("is refused for a sub-agent that is about to end", () => {
    expect(granted(stateOf(...waitingParent, ended), { kind: "end", agent: "foo-ann" })).toMatchObject({
      refused: "no-such-agent",
    });
  });
});

describe("an answer of a sub-agent", () => {
  const events = (state: readonly NewEvent[], message: InboxMessage) => receive(message, stateOf(...state));

  it("finishes the call that waits for it, and names the sub-agent", () => {
    const [reported, end] = events(waitingParent, reportMessage());
    expect(reported).toEqual(report());
    expect(end).toMatchObject({
      type: "command-finished",
      callId: "c1",
      observation: { source: "agent", text: "Ann (key foo-ann) answers:\n42" },
    });
    const state = stateOf(...waitingParent, reported as NewEvent, end as NewEvent);
    expect(isTainted(state)).toBe(true);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage]>([
    ["the call has gone on without it", [...waitingParent, finished()], reportMessage()],
    [
      "it answers an older task than the newest one",
      [...waitingParent, finished(), requested("message_agent", 2), agentTold(), commandWaiting(2)],
      reportMessage(),
    ],
    [
      "the agent has finished",
      [...waitingParent, finished(), { type: "turn-finished", outcome: "completed", reason: "" }],
      reportMessage(),
    ],
  ])("is added as a message when %s", (_title, before, message) => {
    const received = events(before, message);
    expect(received).toMatchObject([{ type: "agent-reported", observation: { text: "42" } }]);
    const [state, after] = [stateOf(...before), stateOf(...before, ...received)];
    expect(activeFrame(after).phase).toEqual(activeFrame(state).phase);
    expect(activeFrame(after).window.at(-1)).toMatchObject({ kind: "report", source: "agent", from: "Ann (foo-ann)" });
    expect(isTainted(after)).toBe(true);
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: object[]]>([
    [
      "without a text only updates the sums",
      waitingParent,
      reportMessage({ status: "accounts", observation: null }),
      [{ type: "agent-reported", status: "accounts" }],
    ],
    [
      "updates only the sums when the sub-agent is about to end",
      [...waitingParent, ended],
      reportMessage(),
      [{ type: "agent-reported" }],
    ],
    ["is ignored when the sub-agent is unknown", [created()], reportMessage(), []],
    [
      "finishes the wait as a failure when the sub-agent is paused",
      waitingParent,
      reportMessage({ status: "paused", observation: observed("limit", { status: "failed" }) }),
      [
        { type: "agent-reported", status: "paused" },
        { type: "command-finished", observation: { status: "failed" } },
      ],
    ],
  ])("%s", (_title, before, message, expected) => {
    const received = events(before, message);
    expect(received).toMatchObject(expected);
    expect(received).toHaveLength(expected.length);
    if (received.length === 1) expect(received[0]).not.toHaveProperty("observation");
  });

  it("leaves the sub-agent's key and the promise of an answer when it does not come in time", () => {
    const late = new Date("2026-11-20T10:01:00.000Z");
    const move = decide(stateOf(...waitingParent), RULES, late);
    expect(move).toMatchObject({
      kind: "record",
      events: [{ type: "command-finished", observation: { status: "ok", source: "goald" } }],
    });
    expect(JSON.stringify(move)).toContain("Ann (key foo-ann) is working. Its answer will come");
    expect(decide(stateOf(...waitingParent), RULES, NOW)).toEqual({ kind: "wait", waitFor: "agent", until: UNTIL });
  });
});

describe("an agent that repeats itself while its sub-agents work", () => {
  const polls = (count: number): readonly NewEvent[] =>
    Array.from({ length: count }, (_, at) => [
      requested("list_agents", at + 2, {}),
      approved(at + 2),
      finished(at + 2),
    ]).flat();
  const noticed: NewEvent = { type: "repetition-noticed", step: 4, callId: "c4", count: 3 };
  const idle = [...waitingParent, finished(), ...polls(3), noticed];

  it("waits at no cost for the next report, then continues", () => {
    expect(decide(stateOf(...idle), RULES, NOW)).toEqual({ kind: "wait", waitFor: "agent", until: null });
    expect(decide(stateOf(...idle, report()), RULES, NOW)).toMatchObject({ kind: "ask" });
  });

  it("is warned first, and continues when no sub-agent works", () => {
    expect(decide(stateOf(...waitingParent, finished(), ...polls(3)), RULES, NOW)).toMatchObject({ kind: "record" });
    expect(decide(stateOf(...waitingParent, finished(), report(), ...polls(3), noticed), RULES, NOW)).toMatchObject({
      kind: "ask",
    });
  });
});

describe("a person's words to an agent that asked a question", () => {
  const asking: readonly NewEvent[] = [
    created(),
    requested("ask_user", 1, { question: "Red or blue?" }),
    approved(),
    started("pure"),
    { type: "command-waiting", step: 1, callId: "c1", waitFor: "person", until: null },
  ];
  const words: InboxMessage = { type: "say", from: "ada", text: "Blue." };

  it("are the answer to the question", () => {
    const received = receive(words, stateOf(...asking));
    expect(received).toMatchObject([
      { type: "command-finished", callId: "c1", observation: { status: "ok", source: "person", text: "Blue." } },
    ]);
    const state = stateOf(...asking, ...received);
    expect(isTainted(state)).toBe(false);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it("are waited for, but are a message like any other when the agent waits for something else", () => {
    expect(decide(stateOf(...asking), RULES, NOW)).toEqual({ kind: "wait", waitFor: "person", until: null });
    expect(receive(words, stateOf(...waitingParent))).toMatchObject([{ type: "message-received" }]);
    expect(phaseOf(...waitingParent, ...receive(words, stateOf(...waitingParent)))).toMatchObject({ kind: "waiting" });
  });

  it("cannot be replaced by an agent's answer", () => {
    expect(receive(reportMessage(), stateOf(...asking))).toEqual([]);
  });
});
