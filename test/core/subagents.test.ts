import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import { decide } from "#core/decide.ts";
import type { NewEvent, RecordedEvent } from "#core/event.ts";
import { evolve } from "#core/evolve.ts";
import { eventsForMessage } from "#core/inbox.ts";
import { limitReached, spentOf } from "#core/limits.ts";
import type { InboxMessage } from "#core/ports/store.ts";
import { type AgentState, activeFrame, initialState, isTainted } from "#core/state.ts";
import type { Origin, Spending, SubagentMessage } from "#core/subagent.ts";
import { stageMessages } from "#core/subagent-messages.ts";
import { grantRequest, type SubagentRequest, type SubagentRules } from "#core/subagent-requests.ts";
import * as given from "../helpers/events.ts";
import { agentTold, child, report, SPENT, startedAgent } from "../helpers/subagent-events.ts";

const { approved, asked, FACTS, finished, log, NOW, observed, paused, RESUMED, replied, requested, rulesOf } = given;
const { started, stateOf, turnEnded, waits } = given;
const RULES = rulesOf({ epoch: 1, facts: () => ({ annotations: FACTS, effect: "transactional" }) });

const UNTIL = "2026-11-20T10:01:00.000Z";
const SUBAGENT_RULES: SubagentRules = { maxDepth: 2, maxChildren: 2, model: "fast-model" };

const created = (settings: Partial<AgentSettings> & { readonly startedBy?: Origin } = {}): NewEvent => ({
  ...given.created(settings),
  approve: "risky",
  ...settings,
});
const commandWaiting = (step = 1): NewEvent => given.waits("agent", UNTIL, step);
/** A parent whose call of start_agent waits. */
const waitingParent: readonly NewEvent[] = [
  created({ stepLimit: 100, tokenLimit: 10_000, budgetUsd: 10 }),
  asked(),
  replied(),
  requested("start_agent"),
  approved(),
  started("transactional"),
  startedAgent(),
  commandWaiting(),
];
const reportMessage = (change: Partial<Extract<SubagentMessage, { type: "report" }>> = {}): InboxMessage => ({
  ...report(),
  type: "report",
  observation: observed("42", { source: "agent" }),
  ...change,
});
const ended: NewEvent = { type: "agent-ended", agent: "foo-ann", reason: "enough" };

describe("a request for a sub-agent", () => {
  const wish = (name = "Ann"): SubagentRequest => ({ kind: "start", name, task: "counts", prompt: "Count to ten." });
  const of = { step: 1, callId: "c1", id: "foo-ann" };
  const granted = (state: AgentState, request = wish()) => grantRequest(request, state, SUBAGENT_RULES, of);
  const limits = { stepLimit: 101, tokenLimit: 10_015, budgetUsd: 8, deadline: UNTIL };
  const limited = created({ ...limits, windowBatch: 3, commands: null, plan: "free" });

  it.each<Partial<AgentSettings>>([
    { commands: "files,loop" },
    { plan: "required" },
    { approve: "always" },
    { approve: "never" },
  ])("passes on %j", (settings) => {
    expect(granted(stateOf(created(settings)))).toMatchObject({ child: settings });
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
        model: "fast-model",
        windowBatch: 3,
        form: "json",
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
    const second = granted(stateOf(limited, asked(), replied(), first));
    expect(second).toMatchObject({ child: { stepLimit: 18, tokenLimit: 1_875, budgetUsd: 1.5 } });
  });

  const two = [created(), startedAgent("foo-a"), startedAgent("foo-b"), report({ agent: "foo-b" })];
  it.each<[title: string, events: readonly NewEvent[], share: object]>([
    ["while it is one step and one token", [created({ stepLimit: 4, tokenLimit: 4 })], { stepLimit: 1, tokenLimit: 1 }],
    ["without limits when the parent has none", [created()], { stepLimit: null, tokenLimit: null, deadline: null }],
    ["with a budget of zero", [created({ budgetUsd: 0 })], { budgetUsd: 0 }],
    ["again when a sub-agent has ended", [...two, { ...ended, agent: "foo-b" } as NewEvent], {}],
  ])("is granted its share %s", (_title, events, share) => {
    expect(granted(stateOf(...events))).toMatchObject({ type: "agent-started", child: share });
  });

  const deep: Origin = { agent: "top", depth: 2, outside: [] };
  const unpaid = [created({ budgetUsd: 1 }), asked(), { ...replied(), costUsd: 1 }];
  const stranger: SubagentRequest = { kind: "tell", agent: "bar", text: "x" };
  const inherited: SubagentRequest = { kind: "end", agent: "constructor" };
  const ending: SubagentRequest = { kind: "end", agent: "foo-bo" };
  const boEnds = [...waitingParent, startedAgent("foo-bo"), { ...ended, agent: "foo-bo" } as NewEvent];
  const MARK = /^The name holds a mark that nobody sees \(U\+200B\)\. Write it without the mark\.$/;
  it.each<[title: string, refused: string, words: RegExp, events: readonly NewEvent[], request?: SubagentRequest]>([
    ["its depth limit is reached", "agents-too-deep", /2 deep.*Do the work yourself/, [created({ startedBy: deep })]],
    ["enough exist", "too-many-agents", /2 at a time, and have foo-a, foo-b \(finished\).*delete_agent/, two],
    ["too few steps are left", "too-little-left", /your 3 steps, 0 are spent/, [created({ stepLimit: 3 })]],
    ["too few tokens are left", "too-little-left", /18 tokens, 15/, [created({ tokenLimit: 18 }), asked(), replied()]],
    ["the budget is spent", "too-little-left", /US dollars/, unpaid],
    ["its name holds a mark that nobody sees", "unseen-mark", MARK, [created()], wish("Ann\u200b")],
    ["its agent is not a sub-agent", "no-such-agent", /foo-ann \(Ann\)/, waitingParent, stranger],
    ["its agent has an inherited name", "no-such-agent", /foo-ann \(Ann\)/, waitingParent, inherited],
    ["its agent is about to end", "no-such-agent", /foo-ann \(Ann\)/, boEnds, ending],
  ])("is refused with an explanation when %s", (_title, refused, words, events, ...[request]) => {
    expect(granted(stateOf(...events), request)).toEqual({ refused, text: expect.stringMatching(words) });
  });

  it("keeps the limits of a working sub-agent, and gives a finished or paused one a new share on top of what it spent", () => {
    const tell: SubagentRequest = { kind: "tell", agent: "foo-ann", text: "more" };
    expect(granted(stateOf(...waitingParent), tell)).toMatchObject({
      type: "agent-told",
      limits: { stepLimit: 20, budgetUsd: 2 },
    });
    // 100 steps, 1 own and 3 of the sub-agent are taken: a quarter of 96 more.
    expect(granted(stateOf(...waitingParent, report(), finished()), tell)).toMatchObject({
      limits: { stepLimit: 3 + 24, tokenLimit: 300 + Math.floor((10_000 - 315) / 4) },
    });
    const stuck = report({ status: "paused", spent: { steps: 20, tokens: 300, usd: 0 } });
    const limits = { stepLimit: 20 + 19, tokenLimit: 300 + Math.floor((10_000 - 1_015) / 4), budgetUsd: 2 };
    expect(granted(stateOf(...waitingParent, stuck, finished()), tell)).toMatchObject({ limits });
  });
});

describe("an answer of a sub-agent", () => {
  const events = (state: readonly NewEvent[], message: InboxMessage) => eventsForMessage(message, stateOf(...state));

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

  it.each<[title: string, later: readonly NewEvent[]]>([
    ["the call has gone on without it", []],
    ["it answers an older task than the newest", [requested("message_agent", 2), agentTold(), commandWaiting(2)]],
    ["the agent has finished", [turnEnded()]],
  ])("is added as a message when %s", (_title, later) => {
    const before = [...waitingParent, finished(), ...later];
    const received = events(before, reportMessage());
    expect(received).toMatchObject([{ type: "agent-reported", observation: { text: "42" } }]);
    const [state, after] = [stateOf(...before), stateOf(...before, ...received)];
    expect(activeFrame(after).phase).toEqual(activeFrame(state).phase);
    expect(activeFrame(after).window.at(-1)).toMatchObject({ kind: "report", source: "agent", from: "Ann (foo-ann)" });
    expect(isTainted(after)).toBe(true);
  });

  const sums = reportMessage({ status: "accounts", observation: null });
  const pausing = reportMessage({ status: "paused", observation: observed("limit", { status: "failed" }) });
  const isPaused = { type: "agent-reported", status: "paused" };
  const fails = { type: "command-finished", observation: { status: "failed" } };
  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: object[]]>([
    ["without a text only updates the sums", waitingParent, sums, [{ type: "agent-reported", status: "accounts" }]],
    ["only updates the sums at its end", [...waitingParent, ended], reportMessage(), [{ type: "agent-reported" }]],
    ["is ignored when the sub-agent is unknown", [created()], reportMessage(), []],
    ["fails the wait when the sub-agent is paused", waitingParent, pausing, [isPaused, fails]],
  ])("%s", (_title, before, message, expected) => {
    const received = events(before, message);
    expect(received).toMatchObject(expected);
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

it("an agent that repeats itself while its sub-agents work is warned first, then waits at no cost for the next report, or continues when no sub-agent works", () => {
  const polls = [2, 3, 4].flatMap((step) => [requested("list_agents", step, {}), approved(step), finished(step)]);
  const noticed: NewEvent = { type: "repetition-noticed", step: 4, callId: "c4", count: 3 };
  const idle = [...waitingParent, finished(), ...polls, noticed];
  expect(decide(stateOf(...waitingParent, finished(), ...polls), RULES, NOW)).toMatchObject({ kind: "record" });
  expect(decide(stateOf(...idle), RULES, NOW)).toEqual({ kind: "wait", waitFor: "agent", until: null });
  expect(decide(stateOf(...idle, report()), RULES, NOW)).toMatchObject({ kind: "ask" });
  for (const status of ["finished", "paused"] as const) {
    const alone = stateOf(...waitingParent, finished(), report({ status }), ...polls, noticed);
    expect(decide(alone, RULES, NOW)).toMatchObject({ kind: "ask" });
  }
});

describe("a person's words to an agent that asked a question", () => {
  const question = requested("ask_user", 1, { question: "Red or blue?" });
  const asking = [created(), question, approved(), started("pure"), waits("person")];
  const words: InboxMessage = { type: "say", from: "ada", text: "Blue." };

  it("are the answer to the question", () => {
    const received = eventsForMessage(words, stateOf(...asking));
    expect(received).toMatchObject([
      { type: "command-finished", callId: "c1", observation: { status: "ok", source: "person", text: "Blue." } },
    ]);
    const state = stateOf(...asking, ...received);
    expect(isTainted(state)).toBe(false);
    expect(activeFrame(state).phase.kind).toBe("thinking");
  });

  it("are waited for, which no agent answers, but are a message when the agent waits for something else", () => {
    expect(decide(stateOf(...asking), RULES, NOW)).toEqual({ kind: "wait", waitFor: "person", until: null });
    expect(eventsForMessage(reportMessage(), stateOf(...asking))).toEqual([]);
    expect(eventsForMessage(words, stateOf(...waitingParent))).toMatchObject([{ type: "message-received" }]);
    const told = stateOf(...waitingParent, ...eventsForMessage(words, stateOf(...waitingParent)));
    expect(activeFrame(told).phase).toMatchObject({ kind: "waiting" });
  });
});

describe("spending of sub-agents", () => {
  const own = { steps: 1, tokens: 15, usd: 0 };
  const SHARE: Spending = { steps: 20, tokens: 1_000, usd: 2 };
  const NEW_SHARE: Spending = { steps: 25, tokens: 2_000, usd: 3 };
  const MORE: Spending = { steps: 30, tokens: 3_000, usd: 4 };
  it.each<[title: string, events: readonly NewEvent[], others: Spending]>([
    ["counts all that they may spend while they work", [], SHARE],
    ["counts only what they spent when they have finished", [report()], SPENT],
    ["counts all that they may spend while they are paused", [report({ status: "paused" })], SHARE],
    ["counts them once, however often they report", [report(), report(), report({ status: "accounts" })], SPENT],
    ["counts the new share when they are given more to do", [report(), agentTold()], NEW_SHARE],
    ["keeps the new share when an older task is answered", [agentTold(), report({ tasksReceived: 1 })], NEW_SHARE],
    ["counts what was spent when the newest task is answered", [agentTold(), report({ tasksReceived: 2 })], SPENT],
    ["counts all that a sub-agent may spend until it has ended", [ended], SHARE],
    ["counts what a sub-agent spent when it reports its end", [ended, report({ status: "ended" })], SPENT],
    ["counts what a sub-agent spent when it had finished before it was ended", [ended, report()], SPENT],
    ["counts what a sub-agent spent at once when it was idle", [report(), ended], SPENT],
    ["counts what was really spent when that is more than the share", [report({ spent: MORE }), ended], MORE],
    ["ignores reports of an agent that is not a sub-agent of this one", [report({ agent: "bar" })], SHARE],
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
  const END: InboxMessage = { type: "end", reason: "r" };
  const types = (events: readonly NewEvent[], message: InboxMessage) =>
    eventsForMessage(message, stateOf(...subagent, ...events)).map(({ type }) => type);

  it("inherits the taint of its parent", () => {
    const outside = [{ from: "web", name: "a.example" } as const];
    expect(isTainted(stateOf(created({ startedBy: { ...origin, outside } })))).toBe(true);
    expect(isTainted(stateOf(...subagent))).toBe(false);
    const received: NewEvent = { type: "task-received", from: "Foo", text: "x", outside };
    expect(isTainted(stateOf(...subagent, received))).toBe(true);
  });

  it.each<[title: string, events: readonly NewEvent[], expected: readonly string[], stepLimit?: number]>([
    ["is recorded for the next step of a working agent", [], ["task-received"]],
    ["opens the next turn of a finished agent", [turnEnded()], ["turn-started", "task-received"]],
    ["resumes an agent that had reached a limit", [paused("step-limit")], ["agent-resumed", "task-received"]],
    ["does not resume an agent that a person stopped", [paused("stopped")], ["task-received"]],
    ["keeps a wider limit of a person", [{ type: "settings-changed", stepLimit: 50 }], ["task-received"], 50],
    ["does not resume an agent whose key was refused", [paused("key-refused")], ["task-received"]],
  ])("a task %s", (_title, events, expected, stepLimit = 30) => {
    expect(types(events, task)).toEqual(["settings-changed", ...expected]);
    const before = [...subagent, ...events];
    const state = stateOf(...before, ...eventsForMessage(task, stateOf(...before)));
    expect(state.settings.stepLimit).toBe(stepLimit);
    expect(state.tasksReceived).toBe(2);
    const read = [...state.asked, ...activeFrame(state).window].at(-1);
    expect(read).toMatchObject({ kind: "task", from: "Foo", source: "agent", text: "more" });
  });

  it("keeps its approval mode, whatever a task message holds", () => {
    const limits = { stepLimit: 30, tokenLimit: null, budgetUsd: null, deadline: null, approve: "never" } as const;
    const forged: InboxMessage = { ...task, limits };
    const state = stateOf(...subagent, ...eventsForMessage(forged, stateOf(...subagent)));
    expect(state.settings.approve).toBe("risky");
  });

  it.each<[title: string, events: readonly NewEvent[], message: InboxMessage, expected: readonly string[]]>([
    ["pauses when its parent pauses", [], { type: "halt", reason: "r" }, ["agent-paused"]],
    ["stays paused when its parent pauses", [paused("budget")], { type: "halt", reason: "r" }, []],
    ["takes a stricter approval mode from its parent", [], { type: "policy", approve: "always" }, ["settings-changed"]],
    ["takes the profile of its parent", [], { type: "policy", commands: "files" }, ["settings-changed"]],
    ["keeps the approval mode that its parent has too", [], { type: "policy", approve: "risky" }, []],
    ["does not take a laxer approval mode from its parent", [], { type: "policy", approve: "never" }, []],
    ["resumes when its parent resumes", [paused("parent")], { type: "go-on" }, ["agent-resumed"]],
    ["does not resume with its parent when a person stopped it", [paused("stopped")], { type: "go-on" }, []],
    ["ends on request, also when it is paused", [paused("budget")], END, ["agent-paused"]],
    ["ends together with its own sub-agents", [startedAgent("foo-ann-bo")], END, ["agent-ended", "agent-paused"]],
    ["ignores a request to end when it has finished", [turnEnded()], END, []],
  ])("%s", (_title, events, message, expected) => {
    expect(types(events, message)).toEqual(expected);
  });

  it("lists this turn's files for its answer: each once, the newest last, at most twenty", () => {
    const wrote = (step: number, path: string): NewEvent => finished(step, observed("", { artifacts: [path] }));
    expect(stateOf(...subagent, wrote(1, "a"), wrote(2, "b"), wrote(3, "a")).made).toEqual(["b", "a"]);
    const many = Array.from({ length: 30 }, (_, at) => wrote(at, `f${at}`));
    expect(stateOf(...subagent, ...many).made).toHaveLength(20);
    expect(stateOf(...subagent, ...many, turnEnded(), given.turnStarted()).made).toEqual([]);
    expect(stateOf(created(), ...many).made).toEqual([]);
  });
});

describe("messages sent with an event", () => {
  const origin: Origin = { agent: "foo", depth: 1, outside: [] };
  const subagent = created({ startedBy: origin });
  function sent(...events: readonly NewEvent[]) {
    let state = initialState;
    let writes: ReturnType<typeof stageMessages> = [];
    for (const event of log(...events)) {
      state = evolve(state, event as RecordedEvent);
      writes = stageMessages(event, state, "me");
    }
    return writes;
  }

  it("a start creates the sub-agent one level deeper, with its parent's taint", () => {
    expect(sent(...waitingParent.slice(0, 7))).toEqual([
      {
        kind: "spawn",
        key: "agent/7",
        spec: { ...child(), id: "foo-ann", startedBy: { agent: "me", depth: 1, outside: [] } },
      },
    ]);
    const page: NewEvent = finished(1, observed("page", { source: "web" }));
    expect(sent(subagent, page, startedAgent("me-bo", 2))).toMatchObject([
      { spec: { startedBy: { agent: "me", depth: 2, outside: [{ from: "web", name: "" }] } } },
    ]);
  });

  it("the end of a turn sends the reason, the files as seen by the parent, the spending and the number of tasks", () => {
    const wrote = finished(1, observed("", { artifacts: ["notes/a.md"] }));
    expect(sent(subagent, asked(), replied(), requested(), wrote, turnEnded("counted"))).toEqual([
      {
        kind: "send",
        to: "foo",
        key: "report/6",
        message: {
          type: "report",
          agent: "me",
          status: "finished",
          tasksReceived: 1,
          spent: { steps: 1, tokens: 15, usd: 0 },
          observation: observed("counted\nIts files: agents/me/notes/a.md", {
            source: "agent",
            outside: [{ from: "agent", name: "me" }],
            artifacts: ["agents/me/notes/a.md"],
          }),
        },
      },
    ]);
  });

  /** A message to the parent or the sub-agent. */
  const to = (agent: string, message: object) => [{ to: agent, message }];
  const bo = [subagent, startedAgent("me-bo")];
  const boReports = report({ agent: "me-bo" });
  const boEnded = report({ agent: "me-bo", status: "ended" });
  const allEnd = [...bo, { ...ended, agent: "me-bo" } as NewEvent, paused("ended")];
  const changed = (settings: Partial<AgentSettings>): NewEvent => ({ type: "settings-changed", ...settings });
  const STOPPED = [...waitingParent, paused("stopped")];
  const NO_TEXT = { observation: null };
  const SUMS = { status: "accounts", ...NO_TEXT };
  const WHY = { status: "paused", observation: { status: "failed", text: expect.stringContaining("why") } };
  const SPENT_BY_BO = { status: "ended", spent: { steps: 3 } };
  const [TASK] = to("foo-ann", { type: "task", text: "more", limits: { stepLimit: 25 }, outside: [] });
  it.each<[title: string, events: readonly NewEvent[], expected: object[]]>([
    ["a pause is reported to the parent, with its reason", [subagent, paused("budget", "why")], to("foo", WHY)],
    ["a pause that the parent caused is not reported back", [subagent, paused("parent")], []],
    ["an agent that a person created reports to nobody", [created(), paused("budget")], []],
    ["a fork reports to nobody", [created({ startedBy: { ...origin, agent: null } }), paused("budget")], []],
    ["a person's stop pauses working sub-agents", STOPPED, to("foo-ann", { type: "halt" })],
    ["a limit does not pause the sub-agents", [...waitingParent, paused("budget")], []],
    ["a person's stop does not pause finished sub-agents", [...waitingParent, report(), paused("stopped")], []],
    ["a resume resumes them", [...STOPPED, RESUMED], to("foo-ann", { type: "go-on" })],
    ["an ended agent reports what it spent", [subagent, paused("ended")], to("foo", { status: "ended", ...NO_TEXT })],
    ["an ended agent does not report before its sub-agents have ended", allEnd, []],
    ["an ended agent reports when its last sub-agent has ended", [...allEnd, boEnded], to("foo", SPENT_BY_BO)],
    ["a resting agent passes on changed sums", [...bo, turnEnded(), boReports], to("foo", SUMS)],
    ["a working agent does not pass on changed sums", [...bo, boReports], []],
    ["a task carries limits, text and taint", [...waitingParent, agentTold()], [{ key: "task/9", ...TASK }]],
    [
      "a stricter approval mode is sent to all sub-agents, also finished ones",
      [...waitingParent, report(), changed({ approve: "always" })],
      to("foo-ann", { type: "policy", approve: "always" }),
    ],
    [
      "a profile of commands is sent to all sub-agents",
      [...waitingParent, changed({ commands: "files,web" })],
      to("foo-ann", { type: "policy", commands: "files,web" }),
    ],
    ["other settings are not sent to sub-agents", [...waitingParent, changed({ stepLimit: 500 })], []],
    [
      "a request to end carries its reason",
      [...waitingParent, ended],
      to("foo-ann", { type: "end", reason: "enough" }),
    ],
  ])("%s", (_title, events, expected) => {
    expect(sent(...events)).toMatchObject(expected);
  });
});
