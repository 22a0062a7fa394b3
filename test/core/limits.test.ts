import { describe, expect, it } from "@jest/globals";
import type { AgentSettings } from "#core/agent-settings.ts";
import type { NewEvent } from "#core/event.ts";
import { costOf, limitExceededBy, limitReached, mayHaveBeenCharged, spentOf } from "#core/limits.ts";
import * as given from "../helpers/events.ts";

const { created, asked, replied, modelFailed, requested, approved, started, finished, interrupted } = given;
const { waits, paused, approvalAsked, RESUMED, NOW, stateOf } = given;
const BEFORE = "2026-11-20T10:00:00.000Z";
const AFTER = "2026-11-20T10:00:45.000Z";

/** Reserved 100 tokens and 0.5 dollars; answered with 10 in and 5 out for 0.2 dollars. */
const askedFor = (...of: Parameters<typeof asked>): NewEvent => ({ ...asked(...of), reservedUsd: 0.5 });
const paid = (step = 1): NewEvent => ({ ...replied(step), costUsd: 0.2 });
/** A command that may cost up to 60 tokens and 0.3 dollars, and its actual cost. */
const buying = (epoch = 1, attempt = 1): NewEvent => ({
  ...started("reconcilable", 1, epoch),
  attempt,
  reserved: { tokens: 60, usd: 0.3 },
});
const spentOn = (costUsd: number | null) => ({
  usage: { inputTokens: 10, outputTokens: 40, cachedTokens: 0, estimated: false },
  costUsd,
  modelCalls: 1,
});
const bought = (costUsd: number | null = 0.25): NewEvent => ({ ...finished(), spent: spentOn(costUsd) });
const waiting = { ...waits("person"), spent: spentOn(0.25) } as NewEvent;
const cutOff: NewEvent = { ...finished(), reconciled: true };
const decided = (...events: NewEvent[]) => given.decided(events);
const BUYING = [requested(), approved(), buying()];
const pausedFor = (code: string) => ({ kind: "record", events: [{ type: "agent-paused", code }] });

describe("spentOf", () => {
  it.each<[title: string, events: NewEvent[], tokens: number, usd: number]>([
    ["is zero at first", [], 0, 0],
    ["counts the reserved cost while a model call is open", [askedFor()], 100, 0.5],
    ["counts the cost that the reply reports", [askedFor(), paid()], 15, 0.2],
    ["adds up the costs of several replies", [askedFor(), paid(), askedFor(2), paid(2)], 30, 0.4],
    ["counts a call that a crash cut off as lost, and the next attempt too", [askedFor(), askedFor(1, 2, 2)], 200, 1],
    ["keeps the lost cost when the next attempt is answered", [askedFor(), askedFor(1, 2, 2), paid()], 115, 0.7],
    ["counts a failure for which the server may have charged", [askedFor(), modelFailed()], 100, 0.5],
    ["counts a charged failure once, whatever follows", [askedFor(), modelFailed(), askedFor(1, 2), paid()], 115, 0.7],
    ["does not count a call that the server rejected", [askedFor(), modelFailed(1, null, "rate-limited")], 0, 0],
    ["counts zero dollars when the price is unknown", [{ ...asked(), reservedUsd: null }, modelFailed()], 100, 0],
    ["counts the reserved cost of a command while it runs", BUYING, 60, 0.3],
    ["counts a command's actual cost when it ends", [...BUYING, bought()], 50, 0.25],
    ["counts a command's tokens alone when the price is unknown", [...BUYING, bought(null)], 50, 0],
    ["counts the reserved cost of a command whose end is unknown", [...BUYING, interrupted(), cutOff], 60, 0.3],
    ["counts the reserved cost of an attempt that a crash cut off", [...BUYING, buying(2, 2), bought()], 110, 0.55],
    ["counts the actual cost of a command that bought and then waits", [...BUYING, waiting], 50, 0.25],
    ["counts a waiting command's cost once when its answer comes", [...BUYING, waiting, finished()], 50, 0.25],
    ["reads logs without prices", [asked(), replied(), asked(2), modelFailed(2)], 115, 0],
  ])("%s", (_title, events, tokens, usd) => {
    const spent = spentOf(stateOf(created(), ...events));
    expect(spent.tokens).toBe(tokens);
    expect(spent.usd).toBeCloseTo(usd, 9);
  });

  it("treats a failure as possibly charged unless its code says that the server turned the request away", () => {
    const turnedAway =
      "no-connection unauthorized rate-limited quota-exhausted model-not-found context-overflow bad-request unavailable";
    const charged = "timeout server-error incomplete-reply broken-reply model-error a-code-of-tomorrow";
    expect(turnedAway.split(" ").filter(mayHaveBeenCharged)).toEqual([]);
    expect(charged.split(" ").filter((code) => !mayHaveBeenCharged(code))).toEqual([]);
  });

  it("prices cached input at its own rate", () => {
    const price = { input: 2, cachedInput: 0.5, output: 8 };
    const usage = { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 };
    expect(costOf(usage, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8, 9);
    // A server that reports more cached than sent tokens is charged as if all were cached.
    expect(costOf({ inputTokens: 10, cachedTokens: 99, outputTokens: 0 }, price)).toBeCloseTo(0.000_005, 12);
  });
});

describe("limits", () => {
  const oneStep = [askedFor(), paid(), requested(), approved(), started(), finished()];

  it.each<[title: string, code: string, reached: Partial<AgentSettings>, free: Partial<AgentSettings>]>([
    ["a step limit", "step-limit", { stepLimit: 1 }, { stepLimit: 2 }],
    ["a token limit", "token-limit", { tokenLimit: 15 }, { tokenLimit: 16 }],
    ["a budget", "budget", { budgetUsd: 0.2 }, { budgetUsd: 0.21 }],
    ["a deadline", "time-limit", { deadline: BEFORE }, { deadline: AFTER }],
  ])("%s pauses the agent before the next model call and says how to continue, when it is reached", (...row) => {
    const [, code, reached, free] = row;
    const move = decided(created(reached), ...oneStep);
    expect(move).toMatchObject(pausedFor(code));
    expect(JSON.stringify(move)).toContain("goald resume <agent> --");
    expect(decided(created(free), ...oneStep)).toMatchObject({ kind: "ask", step: 2 });
  });

  it.each<[title: string, settings: Partial<AgentSettings>, code: string]>([
    ["a token limit", { tokenLimit: 65 }, "token-limit"],
    ["a budget", { budgetUsd: 0.45 }, "budget"],
  ])("%s counts the cost of commands", (_title, settings, code) => {
    const before = [created(settings), askedFor(), paid(), ...BUYING];
    expect(decided(...before, bought())).toMatchObject(pausedFor(code));
    expect(decided(...before, finished())).toMatchObject({ kind: "ask", step: 2 });
  });

  it("no limit, and a budget of zero of which nothing is spent, let the agent continue", () => {
    const free = [asked(), replied(), ...oneStep.slice(2)];
    expect(decided(created(), ...oneStep)).toMatchObject({ kind: "ask", step: 2 });
    expect(decided(created({ budgetUsd: 0 }), ...free)).toMatchObject({ kind: "ask", step: 2 });
  });

  it.each<[title: string, settings: Partial<AgentSettings>, code: string]>([
    ["a token limit", { tokenLimit: 100 }, "token-limit"],
    ["a budget", { budgetUsd: 0.5 }, "budget"],
    ["a deadline", { deadline: BEFORE }, "time-limit"],
    ["a step limit that was lowered meanwhile", { stepLimit: 0 }, "step-limit"],
  ])("%s applies to a repeated attempt, after a crash and after a failure", (_title, settings, code) => {
    expect(decided(created(settings), askedFor())).toMatchObject(pausedFor(code));
    const failed = modelFailed(1, BEFORE);
    expect(decided(created(settings), askedFor(), failed)).toMatchObject(pausedFor(code));
  });

  it("a raised limit lets a paused agent continue with the same step, which counts once", () => {
    const raised: NewEvent = { type: "settings-changed", budgetUsd: 9 };
    const events = [created({ budgetUsd: 0.5, stepLimit: 1 }), askedFor(), paused("budget"), raised, RESUMED];
    expect(decided(...events)).toMatchObject({ kind: "ask", step: 1, attempt: 2 });
  });

  it("a deadline that is not a valid time counts as passed", () => {
    expect(limitReached(stateOf(created({ deadline: "soon" })), 1, NOW)).toMatchObject({ code: "time-limit" });
  });

  it("a step limit covers follow-up turns", () => {
    const next = [...oneStep, given.turnEnded(), given.turnStarted()];
    expect(decided(created({ stepLimit: 1 }), ...next)).toMatchObject(pausedFor("step-limit"));
  });

  it("no limit interrupts a step: an approved command runs whatever was spent", () => {
    const spent = created({ tokenLimit: 1, budgetUsd: 0.1, deadline: BEFORE, stepLimit: 1 });
    expect(decided(spent, askedFor(), paid(), requested(), approved())).toMatchObject({ kind: "execute" });
    expect(decided(spent, askedFor(), paid())).toMatchObject({ kind: "read" });
  });
});

describe("limitExceededBy", () => {
  const state = stateOf(created({ tokenLimit: 150, budgetUsd: 1 }), askedFor(), paid());
  const request = { model: "gpt-test", tokens: 10, usd: 0.1 };

  it.each([
    ["allows a request within the limits", {}, undefined],
    ["allows a request that takes exactly the rest", { tokens: 135, usd: 0.8 }, undefined],
    ["rejects a request with too many tokens", { tokens: 136 }, "token-limit"],
    ["rejects a request that may cost too much", { usd: 0.81 }, "budget"],
    ["rejects a request without a known price when there is a budget", { usd: null }, "budget"],
  ])("%s", (_title, change, code) => {
    expect(limitExceededBy({ ...request, ...change }, state)?.code).toBe(code);
  });

  it("allows a request without a known price when there is no budget, else says how to set a price", () => {
    expect(limitExceededBy({ ...request, usd: null }, stateOf(created()))).toBeUndefined();
    expect(limitExceededBy({ ...request, usd: 2 }, state)?.reason).toBe(
      "The budget of 1 US dollars is reached: 0.2 US dollars are spent, and the next request costs at least 2 US dollars. " +
        "Allow more and go on: goald resume <agent> --budget 5",
    );
    const tiny = stateOf(created({ budgetUsd: 0.00004 }));
    expect(limitExceededBy(request, tiny)?.reason).toContain("The budget of 0.00004 US dollars is reached");
    expect(limitExceededBy({ ...request, usd: null }, state)?.reason).toContain(
      'config/prices.json, such as {"usdPerMillionTokens": {"gpt-test": {"input": 2,',
    );
  });
});

describe("a deadline while the agent waits", () => {
  const awaiting = [requested(), approvalAsked()];
  const waitingFor = (...of: Parameters<typeof waits>) => [requested(), approved(), started(), waits(...of)];
  const LATER = "2026-11-20T12:00:00.000Z";
  const always = { approve: "always" } as const;

  it.each<[title: string, events: NewEvent[], until: string | null]>([
    ["for an approval", awaiting, null],
    ["for a time", waitingFor("time", LATER), LATER],
    ["for an agent", waitingFor("agent", null), null],
    ["for the next attempt", [askedFor(), modelFailed(1, LATER)], LATER],
  ])("pauses an agent that waits %s, and ends the wait early, and only with one", (_title, events, until) => {
    expect(decided(created({ ...always, deadline: BEFORE }), ...events)).toMatchObject(pausedFor("time-limit"));
    expect(decided(created({ ...always, deadline: AFTER }), ...events)).toMatchObject({ kind: "wait", until: AFTER });
    expect(decided(created(always), ...events)).toMatchObject({ kind: "wait", until });
  });

  it("is converted to UTC, does not lengthen a shorter wait, and does not discard an answer that came in time", () => {
    const zoned = created({ ...always, deadline: "2026-11-20T12:00:45+02:00" });
    expect(decided(zoned, ...awaiting)).toMatchObject({ until: AFTER });
    const soon = "2026-11-20T10:00:40.000Z";
    expect(decided(zoned, ...waitingFor("time", soon))).toMatchObject({ until: soon });
    const inTime = waitingFor("time", "2026-11-20T10:00:10.000Z");
    expect(decided(created({ deadline: BEFORE }), ...inTime)).toMatchObject({ events: [{ type: "command-finished" }] });
  });

  it("lets the agent go on waiting when it was moved", () => {
    const moved: NewEvent = { type: "settings-changed", deadline: AFTER };
    const before = [created({ ...always, deadline: BEFORE }), ...awaiting, paused("time-limit")];
    expect(decided(...before, moved, RESUMED)).toEqual({ kind: "wait", waitFor: "approval", until: AFTER });
  });
});
