import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import { decide, type Rules } from "#core/decide.ts";
import type { EventOf, NewEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import { costOf, limitExceededBy, limitReached, mayHaveBeenCharged, spentOf } from "#core/limits.ts";
import type { AgentState } from "#core/state.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, modelFailed, requested, approved, started, finished, interrupted, wholeStep, log } =
  given;
const RULES: Rules = {
  epoch: 2,
  facts: () => ({ annotations: given.FACTS, effect: "pure" }),
  maxBadReplies: 3,
  maxModelFailures: 3,
};
const NOW = new Date("2026-11-20T10:00:30.000Z");
const BEFORE = "2026-11-20T10:00:00.000Z";
const AFTER = "2026-11-20T10:00:45.000Z";

/** Reserved 100 tokens and 0.5 dollars; answered with 10 in and 5 out for 0.2 dollars. */
const askedFor = (...of: Parameters<typeof asked>): NewEvent => ({ ...asked(...of), reservedUsd: 0.5 });
const paid = (step = 1): NewEvent => ({ ...replied(step), costUsd: 0.2 });
/** A command that may buy for 60 tokens and 0.3 dollars, and what it bought. */
const buying = (epoch = 1, attempt = 1): NewEvent => ({
  ...{ ...started("reconcilable", 1, epoch), attempt },
  reserved: { tokens: 60, usd: 0.3 },
});
const bought = (costUsd: number | null = 0.25): NewEvent => ({
  ...finished(),
  spent: {
    usage: { inputTokens: 10, outputTokens: 40, cachedTokens: 0, estimated: false },
    costUsd,
    modelCalls: 1,
  },
});
const waiting = (): NewEvent => {
  const { step, callId, spent } = bought() as EventOf<"command-finished">;
  return { type: "command-waiting", step, callId, waitFor: "person", until: null, ...(spent ? { spent } : {}) };
};
const cutOff: NewEvent = { ...finished(), reconciled: true };
const stateOf = (...events: NewEvent[]): AgentState => replay(log(...events));
const decided = (...events: NewEvent[]) => decide(stateOf(...events), RULES, NOW);
const pausedFor = (code: string) => ({ kind: "record", events: [{ type: "agent-paused", code }] });

describe("what an agent has spent", () => {
  it.each<[title: string, events: NewEvent[], tokens: number, usd: number]>([
    ["is nothing at first", [], 0, 0],
    ["is what was reserved, as long as the question is open", [askedFor()], 100, 0.5],
    ["is what the reply says, once it is there", [askedFor(), paid()], 15, 0.2],
    ["is what replies said together", [askedFor(), paid(), askedFor(2), paid(2)], 30, 0.4],
    ["counts a call whose end a crash hid as lost, and the next attempt too", [askedFor(), askedFor(1, 2, 2)], 200, 1],
    ["keeps what was lost when the next attempt is answered", [askedFor(), askedFor(1, 2, 2), paid()], 115, 0.7],
    ["counts a failure that the server may have worked for", [askedFor(), modelFailed()], 100, 0.5],
    ["once, whatever comes after it", [askedFor(), modelFailed(), askedFor(1, 2), paid()], 115, 0.7],
    ["not one that it turned down", [askedFor(), modelFailed(1, null, "rate-limited")], 0, 0],
    ["nothing in dollars without a known price", [{ ...asked(), reservedUsd: null }, modelFailed()], 100, 0],
    ["is what a command may buy, as long as it runs", [requested(), approved(), buying()], 60, 0.3],
    ["is what it bought, once its end says so", [requested(), approved(), buying(), bought()], 50, 0.25],
    ["in tokens alone without a known price", [requested(), approved(), buying(), bought(null)], 50, 0],
    [
      "is the most of it when its end was not seen",
      [requested(), approved(), buying(), interrupted(), cutOff],
      60,
      0.3,
    ],
    ["and of each attempt that a crash hid", [requested(), approved(), buying(), buying(2, 2), bought()], 110, 0.55],
    [
      "is what it bought before it began to wait, and nothing more",
      [requested(), approved(), buying(), waiting()],
      50,
      0.25,
    ],
    ["and is counted once when the answer comes", [requested(), approved(), buying(), waiting(), finished()], 50, 0.25],
    ["and in logs from before there were prices", [asked(), replied(), asked(2), modelFailed(2)], 115, 0],
  ])("%s", (_title, events, tokens, usd) => {
    const spent = spentOf(stateOf(created(), ...events));
    expect(spent.tokens).toBe(tokens);
    expect(spent.usd).toBeCloseTo(usd, 9);
  });

  it.each([
    ["no-connection", false],
    ["unauthorized", false],
    ["rate-limited", false],
    ["quota-exhausted", false],
    ["model-not-found", false],
    ["context-overflow", false],
    ["bad-request", false],
    ["timeout", true],
    ["server-error", true],
    ["incomplete-reply", true],
    ["broken-reply", true],
    ["model-error", true],
    ["a-code-of-tomorrow", true],
  ])("a failure with code %s may have been charged: %s", (code, charged) => {
    expect(mayHaveBeenCharged(code)).toBe(charged);
  });

  it("costs what the price says, cached input at its own", () => {
    const price = { input: 2, cachedInput: 0.5, output: 8 };
    const usage = { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 };
    expect(costOf(usage, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8, 9);
    // A server that says more was cached than was sent does not make it cheaper than all of it cached.
    expect(costOf({ inputTokens: 10, cachedTokens: 99, outputTokens: 0 }, price)).toBeCloseTo(0.000_005, 12);
  });
});

describe("a limit", () => {
  const oneStep = [askedFor(), paid(), requested(), approved(), started(), finished()];

  it.each<[title: string, settings: Partial<AgentSettings>, code: string]>([
    ["of steps", { stepLimit: 1 }, "step-limit"],
    ["of tokens", { tokenLimit: 15 }, "token-limit"],
    ["of money", { budgetUsd: 0.2 }, "budget"],
    ["of time", { deadline: BEFORE }, "time-limit"],
  ])("%s pauses before the next model call, with words that tell how to go on", (_title, settings, code) => {
    const move = decided(created(settings), ...oneStep);
    expect(move).toMatchObject(pausedFor(code));
    expect(JSON.stringify(move)).toContain("goald resume <agent> --");
  });

  it.each<[title: string, settings: Partial<AgentSettings>, code: string]>([
    ["of tokens", { tokenLimit: 65 }, "token-limit"],
    ["of money", { budgetUsd: 0.45 }, "budget"],
  ])("%s is reached by what a command bought, too", (_title, settings, code) => {
    const events = [...oneStep.slice(0, 2), requested(), approved(), buying(), bought()];
    expect(decided(created(settings), ...events)).toMatchObject(pausedFor(code));
    const without = [...oneStep.slice(0, 2), requested(), approved(), buying(), finished()];
    expect(decided(created(settings), ...without)).toMatchObject({ kind: "ask", step: 2 });
  });

  it.each<[title: string, settings: Partial<AgentSettings>]>([
    ["of steps", { stepLimit: 2 }],
    ["of tokens", { tokenLimit: 16 }],
    ["of money", { budgetUsd: 0.21 }],
    ["of time", { deadline: AFTER }],
    ["of nothing", {}],
    ["of no money, with nothing spent", { budgetUsd: 0 }],
  ])("%s that is not reached does not", (_title, settings) => {
    const free = [asked(), replied(), ...oneStep.slice(2)];
    const events = settings.budgetUsd === 0 ? free : oneStep;
    expect(decided(created(settings), ...events)).toMatchObject({ kind: "ask", step: 2 });
  });

  it.each<[title: string, settings: Partial<AgentSettings>, code: string]>([
    ["of tokens", { tokenLimit: 100 }, "token-limit"],
    ["of money", { budgetUsd: 0.5 }, "budget"],
    ["of time", { deadline: BEFORE }, "time-limit"],
    ["of steps that was lowered meanwhile", { stepLimit: 0 }, "step-limit"],
  ])("%s also holds for a repeated attempt, after a crash and after a failure", (_title, settings, code) => {
    expect(decided(created(settings), askedFor())).toMatchObject(pausedFor(code));
    const failed = modelFailed(1, BEFORE);
    expect(decided(created(settings), askedFor(), failed)).toMatchObject(pausedFor(code));
  });

  it("of steps does not count a repeated attempt as another step", () => {
    expect(decided(created({ stepLimit: 1 }), askedFor())).toMatchObject({ kind: "ask", step: 1, attempt: 2 });
  });

  it("that was raised lets a paused agent go on where it stood", () => {
    const pause: NewEvent = { type: "agent-paused", code: "budget", reason: "" };
    const raised: NewEvent = { type: "settings-changed", budgetUsd: 9 };
    const events = [created({ budgetUsd: 0.5 }), askedFor(), pause, raised, { type: "agent-resumed" } as const];
    expect(decided(...events)).toMatchObject({ kind: "ask", step: 1, attempt: 2 });
  });

  it("that cannot be read as a time has passed", () => {
    expect(limitReached(stateOf(created({ deadline: "soon" })), 1, NOW)).toMatchObject({ code: "time-limit" });
  });

  it("stays over a follow-up turn", () => {
    const next: NewEvent[] = [
      { type: "turn-finished", outcome: "completed", reason: "" },
      { type: "turn-started", turn: 2 },
    ];
    expect(decided(created({ stepLimit: 1 }), ...oneStep, ...next)).toMatchObject(pausedFor("step-limit"));
  });

  it("never interrupts a step: what is approved is run, whatever is spent", () => {
    const spent = created({ tokenLimit: 1, budgetUsd: 0.1, deadline: BEFORE, stepLimit: 1 });
    expect(decided(spent, askedFor(), paid(), requested(), approved())).toMatchObject({ kind: "execute" });
    expect(decided(spent, askedFor(), paid())).toMatchObject({ kind: "read" });
  });
});

describe("a request before it leaves", () => {
  const state = stateOf(created({ tokenLimit: 150, budgetUsd: 1 }), askedFor(), paid());
  const request = { model: "gpt-test", tokens: 10, usd: 0.1 };

  it.each([
    ["with room in tokens and money may go", {}, undefined],
    ["that takes just what is left may go", { tokens: 135, usd: 0.8 }, undefined],
    ["with too many tokens may not", { tokens: 136 }, "token-limit"],
    ["that may cost too much may not", { usd: 0.81 }, "budget"],
    ["whose price nobody knows may not", { usd: null }, "budget"],
  ])("%s", (_title, change, code) => {
    expect(limitExceededBy({ ...request, ...change }, state)?.code).toBe(code);
  });

  it("whose price nobody knows may go when there is no budget", () => {
    expect(limitExceededBy({ ...request, usd: null }, stateOf(created()))).toBeUndefined();
  });

  it("is refused with what was allowed, what is spent, what it may cost, and how to give a price", () => {
    expect(limitExceededBy({ ...request, usd: 2 }, state)?.reason).toBe(
      "The budget of 1 US dollars is reached: 0.2 US dollars are spent, and the next request may cost 2 US dollars. " +
        "Allow more and go on: goald resume <agent> --budget 5",
    );
    expect(limitExceededBy({ ...request, usd: null }, state)?.reason).toContain(
      'config/prices.json, such as {"usdPerMillionTokens": {"gpt-test": {"input": 2,',
    );
  });
});

describe("a deadline while the agent waits", () => {
  const awaiting: NewEvent[] = [requested(), { type: "approval-asked", step: 1, callId: "c1", reason: "" }];
  const waitingFor = (waitFor: "time" | "agent", until: string | null): NewEvent[] => [
    requested(),
    approved(),
    started(),
    { type: "command-waiting", step: 1, callId: "c1", waitFor, until },
  ];
  const LATER = "2026-11-20T12:00:00.000Z";
  const always = { approve: "always" } as const;

  it.each<[title: string, events: NewEvent[]]>([
    ["for an approval", awaiting],
    ["for a time", waitingFor("time", LATER)],
    ["for an agent", waitingFor("agent", null)],
    ["for the next attempt", [askedFor(), modelFailed(1, LATER)]],
  ])("%s pauses it when it has passed", (_title, events) => {
    expect(decided(created({ ...always, deadline: BEFORE }), ...events)).toMatchObject(pausedFor("time-limit"));
  });

  it.each<[title: string, events: NewEvent[], until: string | null]>([
    ["for an approval", awaiting, null],
    ["for a time", waitingFor("time", LATER), LATER],
    ["for an agent", waitingFor("agent", null), null],
    ["for the next attempt", [askedFor(), modelFailed(1, LATER)], LATER],
  ])("%s wakes it then; without one it waits as long as it takes", (_title, events, until) => {
    expect(decided(created({ ...always, deadline: AFTER }), ...events)).toMatchObject({ kind: "wait", until: AFTER });
    expect(decided(created(always), ...events)).toMatchObject({ kind: "wait", until });
  });

  it("is told in UTC, however it was given, and does not lengthen a shorter wait", () => {
    const zoned = created({ ...always, deadline: "2026-11-20T12:00:45+02:00" });
    expect(decided(zoned, ...awaiting)).toMatchObject({ until: AFTER });
    const soon = "2026-11-20T10:00:40.000Z";
    expect(decided(zoned, ...waitingFor("time", soon))).toMatchObject({ until: soon });
  });

  it("does not take away the answer that came in time", () => {
    const events = waitingFor("time", "2026-11-20T10:00:10.000Z");
    expect(decided(created({ deadline: BEFORE }), ...events)).toMatchObject({ events: [{ type: "command-finished" }] });
  });

  it("lets the wait go on when it was moved", () => {
    const events: NewEvent[] = [
      created({ ...always, deadline: BEFORE }),
      ...awaiting,
      { type: "agent-paused", code: "time-limit", reason: "" },
      { type: "settings-changed", deadline: AFTER },
      { type: "agent-resumed" },
    ];
    expect(decided(...events)).toEqual({ kind: "wait", waitFor: "approval", until: AFTER });
  });
});

describe("limits and old logs", () => {
  it("a log without any of the newer fields folds and goes on", () => {
    const { settings, lost, costUsd } = stateOf(created(), ...wholeStep(1), asked(2), modelFailed(2));
    expect(settings).toMatchObject({
      tokenLimit: null,
      budgetUsd: null,
      deadline: null,
      model: null,
      background: false,
    });
    expect({ lost, costUsd }).toEqual({ lost: { tokens: 100, usd: 0 }, costUsd: 0 });
  });
});
