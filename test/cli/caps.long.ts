import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import { makeDaemonHome } from "../helpers/daemon-home.ts";
import { AGENT, daemonOf, endedWith, type Goald, linesOf, lookInto, RUN, readStore } from "../helpers/goald.ts";
import { done } from "../helpers/loop.ts";
import { nameIn, startAgent, subagentModel } from "../helpers/models.ts";
import { type ChatRequest, chunk, SSE } from "../helpers/openai-server.ts";

const HELPERS = ["Ann", "Bo", "Cy", "Di", "Ed"];

const THOUGHT_TOKENS = 60_000;
/** US dollars per token of gpt-4.1 in the shipped prices. */
const INPUT_USD = 2 / 1e6;
const OUTPUT_USD = 8 / 1e6;
const ENV = { SMART_LLM: "gpt-4.1", FAST_LLM: "gpt-4.1" };

/** One request as the server bills it. */
interface Bill {
  readonly agent: string;
  /** The maximum that the request asked for. */
  readonly cap: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface ThinkingOptions {
  /** Answers at once; undefined for an agent that thinks. */
  readonly quick?: (request: ChatRequest) => string | undefined;
  /** Sent after the thoughts, when the maximum of the request is larger; by default nothing is. */
  readonly answer?: string;
  readonly delayMs?: number;
}

/**
 * A home whose model server obeys the maximum of a request. It thinks for 60,000 tokens before each reply, which are
 * hidden and billed, and sends no content when the maximum is used up.
 */
async function open({ quick, answer, delayMs = 0 }: ThinkingOptions = {}) {
  const bills: Bill[] = [];
  let active = 0;
  const reply = async (request: ChatRequest) => {
    const cap = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
    const chars = request.messages.reduce((sum, { content }) => sum + content.length, 0);
    const inputTokens = Math.ceil(chars / 5);
    const said = quick?.(request);
    const outputTokens = said === undefined ? Math.min(THOUGHT_TOKENS, cap) : Math.ceil(said.length / 4);
    bills.push({ agent: nameIn(request), cap, inputTokens, outputTokens });
    active++;
    await sleep(delayMs);
    active--;
    const text = said ?? (cap > THOUGHT_TOKENS ? answer : undefined) ?? null;
    const details = { completion_tokens_details: { reasoning_tokens: outputTokens } };
    const usage = { prompt_tokens: inputTokens, completion_tokens: outputTokens, ...details };
    return { text, finishReason: text === null ? "length" : "stop", usage };
  };
  return { ...(await makeDaemonHome([], { env: ENV, reply })), bills, isThinking: () => active > 0 };
}

const tokensOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
const usdOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens * INPUT_USD + outputTokens * OUTPUT_USD, 0);

function expectNoneOverCap(bills: readonly Bill[]): void {
  expect(bills.length).toBeGreaterThan(0);
  for (const { cap, outputTokens } of bills) expect(outputTokens).toBeLessThanOrEqual(cap);
}

const accountsOf = (goald: Goald) =>
  readStore(goald, async (reader) => {
    const rows = await reader.agents();
    const logs = await Promise.all(rows.map(async ({ id }) => [id, await reader.read(id, 0, 10_000)] as const));
    return Object.fromEntries(logs.map(([id, log]) => [id, replay(log)]));
  });

describe("a server that thinks for 60,000 tokens, and obeys the cap of a request", () => {
  it.each<[title: string, tokens: number, budget: number, code: string]>([
    ["10,000 tokens", 10_000, 0.1, "token-limit"],
    ["two cents", 100_000, 0.02, "budget"],
  ])("stays below a limit of %s", async (_title, tokens, budget, code) => {
    await using world = await open();
    const { goald, bills } = world;
    const ended = endedWith(6, await goald.ask([...RUN, "--max-tokens", `${tokens}`, "--budget", `${budget}`]));
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: code, modelCalls: bills.length });
    expectNoneOverCap(bills);
    expect(tokensOf(bills)).toBeLessThanOrEqual(tokens);
    expect(usdOf(bills)).toBeLessThanOrEqual(budget);
    // A further request would have left fewer than 256 tokens for its reply.
    expect(bills.every(({ cap }) => cap >= 256)).toBe(true);
  });

  it("gets four times the maximum after each reply that holds no answer, until one does", async () => {
    await using world = await open({ answer: done() });
    const { goald, bills } = world;
    const ended = endedWith(0, await goald.ask(["run", ...AGENT, "--continuous"]));
    expect(bills.map(({ cap }) => cap)).toEqual([4_000, 16_000, 64_000]);
    for (const tokens of [4_000, 16_000])
      expect(ended.stdout).toContain(`cut off after ${tokens} tokens, ${tokens} of them reasoning, before an answer`);
  });

  it("pauses the agent after three of them, and names the tokens of reasoning and the setting", async () => {
    await using world = await open();
    const { goald, bills } = world;
    const ended = endedWith(10, await goald.ask(RUN));
    expect(bills.map(({ cap }) => cap)).toEqual([4_000, 16_000, 64_000]);
    expect(linesOf(ended).at(-1)).toMatchObject({
      outcome: "bad-replies",
      reason: expect.stringMatching(
        /Reasoning took 80000 tokens.*setting models.replyTokens \(GOALD_MODELS_REPLY_TOKENS\)/,
      ),
    });
  });

  it("stays below the limits of one agent with five sub-agents, although the daemon is killed twice", async () => {
    const boss = subagentModel({ T: HELPERS.map((name) => startAgent(name)) });
    const quick: ThinkingOptions["quick"] = (request) => (nameIn(request) === "T" ? boss(request) : undefined);
    await using world = await open({ quick, delayMs: 300 });
    const { goald, bills } = world;
    await using daemon = daemonOf(goald);
    const limits = { tokens: 400_000, usd: 1.5 };
    const flags = ["--max-tokens", String(limits.tokens), "--budget", String(limits.usd), "--max-steps", "100"];
    endedWith(0, await goald.ask(["run", "-d", ...AGENT, ...flags]));
    for (const helpers of [2, 4]) {
      const seen = () => new Set(bills.map(({ agent }) => agent)).size;
      await daemon.until(`${helpers} helpers think`, () => seen() > helpers && world.isThinking());
      await daemon.kill();
      endedWith(0, await goald.ask("up"));
    }
    await daemon.until("all agents rest", async () => {
      const states = Object.values(await accountsOf(goald));
      return (
        states.length === 1 + HELPERS.length &&
        states.every(({ paused, frames }) => paused !== null || frames[0].phase.kind === "resting")
      );
    });
    expectNoneOverCap(bills);
    expect(bills.some(({ outputTokens }) => outputTokens > 10_000)).toBe(true);
    expect(tokensOf(bills)).toBeLessThanOrEqual(limits.tokens);
    expect(usdOf(bills)).toBeLessThanOrEqual(limits.usd);
    const accounts = await accountsOf(goald);
    for (const [id, state] of Object.entries(accounts)) {
      const spent = spentOf(state);
      expect(spent.tokens).toBeLessThanOrEqual(state.settings.tokenLimit ?? 0);
      expect(spent.usd).toBeLessThanOrEqual(state.settings.budgetUsd ?? 0);
      // What the agent counts is at least what the server bills.
      const own = bills.filter(({ agent }) => agent === state.name);
      if (id !== "t") expect(spent.tokens).toBeGreaterThanOrEqual(tokensOf(own));
    }
  }, 90_000);
});

it("a server that ignores the cap of a request exceeds a limit by less than the margin of the cap", async () => {
  const thoughts = chunk({ reasoning_content: "word".repeat(250) }).repeat(THOUGHT_TOKENS / 250);
  await using home = await makeDaemonHome([], {
    env: ENV,
    reply: () => ({ status: 200, headers: SSE, body: thoughts }),
  });
  const { goald } = home;
  endedWith(6, await goald.ask([...RUN, "--max-tokens", "10000", "--budget", "0.10"]));
  const spent = spentOf(replay((await lookInto(goald)).log));
  expect(spent.tokens).toBeLessThanOrEqual(10_000 + 1_000);
  expect(spent.usd).toBeLessThanOrEqual(0.1 + 1_000 * (8 / 1e6));
});
