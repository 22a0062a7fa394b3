import { describe, expect, it } from "@jest/globals";
import { decide, type Rules } from "#core/decide.ts";
import type { AgentSettings, EventOf, NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve, replay } from "#core/evolve.ts";
import { arrange, type FamilyRules, type FamilyWish } from "#core/family.ts";
import type { FamilyMessage, Origin, Spending } from "#core/family-event.ts";
import { receive } from "#core/inbox.ts";
import { sentWith } from "#core/kin.ts";
import { limitReached, spentOf } from "#core/limits.ts";
import type { InboxMessage } from "#core/ports/inbox.ts";
import { type AgentState, activeFrame, initialState } from "#core/state.ts";
import * as given from "../helpers/events.ts";

const { asked, replied, requested, approved, started, finished, observed, log, FACTS } = given;

const NOW = new Date("2026-11-20T10:00:30.000Z");
const UNTIL = "2026-11-20T10:01:00.000Z";
const RULES: Rules = {
  epoch: 1,
  facts: () => ({ annotations: FACTS, effect: "transactional" }),
  maxBadReplies: 3,
  maxModelFailures: 3,
};
const FAMILY: FamilyRules = { maxDepth: 2, maxChildren: 2, sharePercent: 25, model: "fast-model" };

const created = (settings: Partial<AgentSettings> & { readonly startedBy?: Origin } = {}): NewEvent => ({
  ...given.created(settings),
  approve: "risky",
  ...settings,
});
const child = (change: Partial<EventOf<"agent-started">["child"]> = {}): EventOf<"agent-started">["child"] => ({
  name: "Ann",
  role: "counts",
  goals: ["Count"],
  approve: "risky",
  stepLimit: 20,
  tokenLimit: 1_000,
  budgetUsd: 2,
  ...change,
});
const startedAgent = (agent = "foo-ann", step = 1, change = {}): EventOf<"agent-started"> => ({
  type: "agent-started",
  step,
  callId: `c${step}`,
  agent,
  task: "counts",
  child: child(change),
});
const waits = (step = 1): NewEvent => ({
  type: "command-waiting",
  step,
  callId: `c${step}`,
  waitFor: "agent",
  until: UNTIL,
});
/** A parent whose call of start_agent waits. */
const waiting: readonly NewEvent[] = [
  created({ stepLimit: 100, tokenLimit: 10_000, budgetUsd: 10 }),
  asked(),
  replied(),
  requested("start_agent"),
  approved(),
  started("transactional"),
  startedAgent(),
  waits(),
];
const SPENT: Spending = { steps: 3, tokens: 300, usd: 0.5 };
const report = (change: Partial<EventOf<"agent-reported">> = {}): EventOf<"agent-reported"> => ({
  type: "agent-reported",
  agent: "foo-ann",
  standing: "finished",
  heard: 1,
  spent: SPENT,
  ...change,
});
const said = (change: Partial<Extract<FamilyMessage, { type: "report" }>> = {}): InboxMessage => ({
  ...report(),
  type: "report",
  observation: observed("42", { source: "agent" }),
  ...change,
});
const told = (step = 2): NewEvent => ({
  type: "agent-told",
  step,
  callId: `c${step}`,
  agent: "foo-ann",
  text: "more",
  reach: { stepLimit: 25, tokenLimit: 2_000, budgetUsd: 3, deadline: null },
});
const ended: NewEvent = { type: "agent-ended", agent: "foo-ann", reason: "enough" };
const stateOf = (...events: readonly NewEvent[]): AgentState => replay(log(...events));
const phaseOf = (...events: readonly NewEvent[]) => activeFrame(stateOf(...events)).phase;

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

describe("a wish for another agent", () => {
  const wish = (name = "Ann"): FamilyWish => ({ kind: "start", name, task: "counts", prompt: "Count to ten." });
  const of = { step: 1, callId: "c1", id: "foo-ann" };
  const granted = (state: AgentState, given_: FamilyWish = wish(), rules = FAMILY) => arrange(given_, state, rules, of);
  const limited = created({ stepLimit: 101, tokenLimit: 10_015, budgetUsd: 8, deadline: UNTIL, windowBatch: 3 });

  it("is granted with a quarter of what is left, the same deadline, the fast model, and no wider policy", () => {
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
        model: "fast-model",
        background: true,
        stepLimit: 25,
        tokenLimit: 2_500,
        budgetUsd: 2,
        deadline: UNTIL,
      },
    });
  });

  it("gives the second one a quarter of what the first one left", () => {
    const first = granted(stateOf(limited, asked(), replied())) as NewEvent;
    const second = granted(stateOf(limited, asked(), replied(), first)) as EventOf<"agent-started">;
    expect(second.child).toMatchObject({ stepLimit: 18, tokenLimit: 1_875, budgetUsd: 1.5 });
  });

  it("has no limits where the one that starts it has none, and a budget of nothing where that is all there is", () => {
    expect(granted(stateOf(created({ budgetUsd: 0 })))).toMatchObject({
      child: { stepLimit: null, tokenLimit: null, budgetUsd: 0, deadline: null },
    });
  });

  it.each<["always" | "risky" | "never"]>([["always"], ["risky"], ["never"]])("hands on the mode %s", (approve) => {
    expect(granted(stateOf(created({ approve })))).toMatchObject({ child: { approve } });
  });

  const deep: Origin = { agent: "top", depth: 2, tainted: false };
  it.each<[title: string, events: readonly NewEvent[], refused: string, words: RegExp]>([
    ["two agents stand above it", [created({ startedBy: deep })], "too-deep", /2 deep.*Do the work yourself/],
    [
      "there are as many as there may be",
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
  ])("is refused in words when %s", (_title, events, refused, words) => {
    const answer = granted(stateOf(...events));
    expect(answer).toMatchObject({ refused });
    expect((answer as { text: string }).text).toMatch(words);
  });

  it("is granted again when one has ended", () => {
    const state = stateOf(created(), startedAgent("foo-a"), startedAgent("foo-b"), report({ agent: "foo-b" }), {
      ...ended,
      agent: "foo-b",
    } as NewEvent);
    expect(granted(state)).toMatchObject({ type: "agent-started" });
  });

  it("allows none at all at depth nought", () => {
    expect(granted(stateOf(created()), wish(), { ...FAMILY, maxDepth: 0 })).toMatchObject({ refused: "too-deep" });
  });

  it.each<[FamilyWish]>([[{ kind: "tell", agent: "bar", text: "x" }], [{ kind: "end", agent: "constructor" }]])(
    "about an agent that is not its own is refused with the keys that there are: %j",
    (stranger) => {
      const answer = granted(stateOf(...waiting), stranger);
      expect(answer).toMatchObject({ refused: "no-such-agent", text: expect.stringContaining("foo-ann (Ann)") });
    },
  );

  it("to tell one that works changes no limits; one that has finished gets a new share on top of what it spent", () => {
    const tell: FamilyWish = { kind: "tell", agent: "foo-ann", text: "more" };
    expect(granted(stateOf(...waiting), tell)).toMatchObject({
      type: "agent-told",
      reach: { stepLimit: 20, budgetUsd: 2 },
    });
    // 100 steps, 1 own and 3 of hers are taken: a quarter of 96 more.
    expect(granted(stateOf(...waiting, report(), finished()), tell)).toMatchObject({
      reach: { stepLimit: 3 + 24, tokenLimit: 300 + Math.floor((10_000 - 315) / 4) },
    });
  });

  it("about one that is ending finds nobody", () => {
    expect(granted(stateOf(...waiting, ended), { kind: "end", agent: "foo-ann" })).toMatchObject({
      refused: "no-such-agent",
    });
  });
});

describe("an answer", () => {
  const events = (state: readonly NewEvent[], message: InboxMessage) => receive(message, stateOf(...state));

  it("ends the call that waits for it, and says who speaks", () => {
    const [reported, end] = events(waiting, said());
    expect(reported).toEqual(report());
    expect(end).toMatchObject({
      type: "command-finished",
      callId: "c1",
      observation: { source: "agent", text: "Ann (key foo-ann) answers:\n42" },
    });
    const state = stateOf(...waiting, reported as NewEvent, end as NewEvent);
    expect(state.tainted).toBe(true);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage]>([
    ["the call has gone on without it", [...waiting, finished()], said()],
    [
      "it was told more since, and this answers the older task",
      [...waiting, finished(), requested("message_agent", 2), told(), waits(2)],
      said(),
    ],
    [
      "the agent has finished",
      [...waiting, finished(), { type: "turn-finished", outcome: "completed", reason: "" }],
      said(),
    ],
  ])("comes as a message when %s", (_title, before, message) => {
    const received = events(before, message);
    expect(received).toMatchObject([{ type: "agent-reported", observation: { text: "42" } }]);
    const [state, after] = [stateOf(...before), stateOf(...before, ...received)];
    expect(activeFrame(after).phase).toEqual(activeFrame(state).phase);
    expect(activeFrame(after).window.at(-1)).toMatchObject({ kind: "report", source: "agent", from: "Ann (foo-ann)" });
    expect(after.tainted).toBe(true);
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: object[]]>([
    [
      "only its sums are heard when there is nothing to say",
      waiting,
      said({ standing: "accounts", observation: null }),
      [{ type: "agent-reported", standing: "accounts" }],
    ],
    ["only its sums are heard when it is ending", [...waiting, ended], said(), [{ type: "agent-reported" }]],
    ["it means nothing from one that is not known", [created()], said(), []],
    [
      "a pause ends the wait as a failure",
      waiting,
      said({ standing: "paused", observation: observed("limit", { status: "failed" }) }),
      [
        { type: "agent-reported", standing: "paused" },
        { type: "command-finished", observation: { status: "failed" } },
      ],
    ],
  ])("%s", (_title, before, message, expected) => {
    const received = events(before, message);
    expect(received).toMatchObject(expected);
    expect(received).toHaveLength(expected.length);
    if (received.length === 1) expect(received[0]).not.toHaveProperty("observation");
  });

  it("that does not come in time leaves its key and the promise that it comes", () => {
    const late = new Date("2026-11-20T10:01:00.000Z");
    const move = decide(stateOf(...waiting), RULES, late);
    expect(move).toMatchObject({
      kind: "record",
      events: [{ type: "command-finished", observation: { status: "ok", source: "goald" } }],
    });
    expect(JSON.stringify(move)).toContain("Ann (key foo-ann) is working. Its answer will come");
    expect(decide(stateOf(...waiting), RULES, NOW)).toEqual({ kind: "wait", waitFor: "agent", until: UNTIL });
  });
});

describe("an agent that goes round in a circle while others work for it", () => {
  const polls = (count: number): readonly NewEvent[] =>
    Array.from({ length: count }, (_, at) => [
      requested("list_agents", at + 2, {}),
      approved(at + 2),
      finished(at + 2),
    ]).flat();
  const noticed: NewEvent = { type: "repetition-noticed", step: 4, callId: "c4", count: 3 };
  const idle = [...waiting, finished(), ...polls(3), noticed];

  it("waits for the next word of one of them, at no cost, and goes on then", () => {
    expect(decide(stateOf(...idle), RULES, NOW)).toEqual({ kind: "wait", waitFor: "agent", until: null });
    expect(decide(stateOf(...idle, report()), RULES, NOW)).toMatchObject({ kind: "ask" });
  });

  it("is told first, and asks on when nobody works for it", () => {
    expect(decide(stateOf(...waiting, finished(), ...polls(3)), RULES, NOW)).toMatchObject({ kind: "record" });
    expect(decide(stateOf(...waiting, finished(), report(), ...polls(3), noticed), RULES, NOW)).toMatchObject({
      kind: "ask",
    });
  });
});

describe("an agent that another one started", () => {
  const origin: Origin = { agent: "foo", depth: 1, tainted: false };
  const born = [created({ startedBy: origin })];
  const task: Extract<FamilyMessage, { type: "task" }> = {
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

describe("what is sent with an event", () => {
  const origin: Origin = { agent: "foo", depth: 1, tainted: false };
  function sent(...events: readonly NewEvent[]) {
    let state = initialState;
    let writes: ReturnType<typeof sentWith> = [];
    for (const event of log(...events)) {
      state = evolve(state, event as RecordedEvent);
      writes = sentWith(event, state, "me");
    }
    return writes;
  }

  it("starts the agent, one deeper, with the taint of the one that starts it", () => {
    expect(sent(...waiting.slice(0, 7))).toEqual([
      {
        kind: "spawn",
        key: "agent/7",
        spec: { ...child(), id: "foo-ann", startedBy: { agent: "me", depth: 1, tainted: false } },
      },
    ]);
    const page: NewEvent = finished(1, observed("page", { source: "web" }));
    expect(sent(created({ startedBy: origin }), page, startedAgent("me-bo", 2))).toMatchObject([
      { spec: { startedBy: { agent: "me", depth: 2, tainted: true } } },
    ]);
  });

  it("answers with the reason, the files as the other reads them, what was spent and which task was heard", () => {
    const wrote = finished(1, observed("", { artifacts: ["notes/a.md"] }));
    const rest: NewEvent = { type: "turn-finished", outcome: "completed", reason: "counted" };
    expect(sent(created({ startedBy: origin }), asked(), replied(), requested(), wrote, rest)).toEqual([
      {
        kind: "send",
        to: "foo",
        key: "report/6",
        message: {
          type: "report",
          agent: "me",
          standing: "finished",
          heard: 1,
          spent: { steps: 1, tokens: 15, usd: 0 },
          observation: observed("counted\nIts files: agents/me/notes/a.md", {
            source: "agent",
            artifacts: ["agents/me/notes/a.md"],
          }),
        },
      },
    ]);
  });

  const paused = (code: EventOf<"agent-paused">["code"]): NewEvent => ({ type: "agent-paused", code, reason: "why" });
  it.each<[title: string, events: readonly NewEvent[], expected: object[]]>([
    [
      "a pause is told to the one above, with its reason",
      [created({ startedBy: origin }), paused("budget")],
      [
        {
          to: "foo",
          message: { standing: "paused", observation: { status: "failed", text: expect.stringContaining("why") } },
        },
      ],
    ],
    ["a stop that came from above is not told back", [created({ startedBy: origin }), paused("parent")], []],
    ["an agent of a person tells nobody", [created(), paused("budget")], []],
    ["a fork tells nobody", [created({ startedBy: { ...origin, agent: null } }), paused("budget")], []],
    [
      "those that work stop with the one that a person stops",
      [...waiting, paused("stopped")],
      [{ to: "foo-ann", message: { type: "halt" } }],
    ],
    ["not at a limit", [...waiting, paused("budget")], []],
    ["not those that have finished", [...waiting, report(), paused("stopped")], []],
    [
      "they go on with it",
      [...waiting, paused("stopped"), { type: "agent-resumed" }],
      [{ to: "foo-ann", message: { type: "go-on" } }],
    ],
    [
      "one that ends says what it spent",
      [created({ startedBy: origin }), paused("ended")],
      [{ to: "foo", message: { standing: "ended", observation: null } }],
    ],
    [
      "not before those below it have ended",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
      ],
      [],
    ],
    [
      "but then",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { ...ended, agent: "me-bo" } as NewEvent,
        paused("ended"),
        report({ agent: "me-bo", standing: "ended" }),
      ],
      [{ to: "foo", message: { standing: "ended", spent: { steps: 3 } } }],
    ],
    [
      "sums that change while it rests are passed on",
      [
        created({ startedBy: origin }),
        startedAgent("me-bo"),
        { type: "turn-finished", outcome: "completed", reason: "" },
        report({ agent: "me-bo" }),
      ],
      [{ to: "foo", message: { standing: "accounts", observation: null } }],
    ],
    ["and not while it works", [created({ startedBy: origin }), startedAgent("me-bo"), report({ agent: "me-bo" })], []],
    [
      "a task carries limits, words and taint",
      [...waiting, told()],
      [
        {
          to: "foo-ann",
          key: "task/9",
          message: { type: "task", text: "more", reach: { stepLimit: 25 }, tainted: false },
        },
      ],
    ],
    [
      "a stricter mode reaches those that it started, those that rest too",
      [...waiting, report(), { type: "settings-changed", approve: "always" }],
      [{ to: "foo-ann", message: { type: "policy", approve: "always" } }],
    ],
    ["other settings do not", [...waiting, { type: "settings-changed", stepLimit: 500 }], []],
    ["an end carries its reason", [...waiting, ended], [{ to: "foo-ann", message: { type: "end", reason: "enough" } }]],
  ])("%s", (_title, events, expected) => {
    const writes = sent(...events);
    expect(writes).toMatchObject(expected);
    expect(writes).toHaveLength(expected.length);
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

  it("are the answer", () => {
    const received = receive(words, stateOf(...asking));
    expect(received).toMatchObject([
      { type: "command-finished", callId: "c1", observation: { status: "ok", source: "person", text: "Blue." } },
    ]);
    const state = stateOf(...asking, ...received);
    expect(state.tainted).toBe(false);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it("park it until then, and are a message like any other when it waits for something else", () => {
    expect(decide(stateOf(...asking), RULES, NOW)).toEqual({ kind: "wait", waitFor: "person", until: null });
    expect(receive(words, stateOf(...waiting))).toMatchObject([{ type: "message-received" }]);
    expect(phaseOf(...waiting, ...receive(words, stateOf(...waiting)))).toMatchObject({ kind: "waiting" });
  });

  it("of an agent are no answer: only a person is asked", () => {
    expect(receive(said(), stateOf(...asking))).toEqual([]);
  });
});
