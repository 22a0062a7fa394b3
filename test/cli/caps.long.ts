import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { replay } from "#core/evolve.ts";
import { spentOf } from "#core/limits.ts";
import {
  AGENT,
  daemonOf,
  endedWith,
  type Goald,
  linesOf,
  lookInto,
  makeGoald,
  RUN,
  readStore,
} from "../helpers/goald.ts";
import { done } from "../helpers/loop.ts";
import { listenOnLoopback } from "../helpers/loopback.ts";
import { nameIn, startAgent, subagentModel } from "../helpers/models.ts";
import type { ChatRequest } from "../helpers/openai-server.ts";

const HELPERS = ["Ann", "Bo", "Cy", "Di", "Ed"];

async function open(options: ThinkingOptions, env: Readonly<Record<string, string>> = {}) {
  const server = await startThinkingServer(options);
  const models = { SMART_LLM: "gpt-4.1", FAST_LLM: "gpt-4.1", GOALD_MEMORY_EMBEDDER: "offline" };
  const goald = await makeGoald({ OPENAI_BASE_URL: server.baseUrl, ...models, ...env });
  return {
    server,
    goald,
    [Symbol.asyncDispose]: async () => {
      await goald[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function expectNoneOverCap({ bills }: ThinkingServer): void {
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
    await using world = await open({ obeys: true });
    const { goald, server } = world;
    const ended = endedWith(6, await goald.ask([...RUN, "--max-tokens", `${tokens}`, "--budget", `${budget}`]));
    expect(linesOf(ended).at(-1)).toMatchObject({ outcome: code, modelCalls: server.bills.length });
    expectNoneOverCap(server);
    expect(tokensOf(server.bills)).toBeLessThanOrEqual(tokens);
    expect(usdOf(server.bills)).toBeLessThanOrEqual(budget);
    // A further request would have left fewer than 256 tokens for its reply.
    expect(server.bills.every(({ cap }) => cap >= 256)).toBe(true);
  });

  it("gets four times the maximum after each reply that holds no answer, until one does", async () => {
    await using world = await open({ obeys: true, answer: done() });
    const { goald, server } = world;
    const ended = endedWith(0, await goald.ask(["run", ...AGENT, "--continuous"]));
    expect(server.bills.map(({ cap }) => cap)).toEqual([4_000, 16_000, 64_000]);
    for (const tokens of [4_000, 16_000])
      expect(ended.stdout).toContain(`cut off after ${tokens} tokens, ${tokens} of them reasoning, before an answer`);
  });

  it("pauses the agent after three of them, and names the tokens of reasoning and the setting", async () => {
    await using world = await open({ obeys: true });
    const { goald, server } = world;
    const ended = endedWith(10, await goald.ask(RUN));
    expect(server.bills.map(({ cap }) => cap)).toEqual([4_000, 16_000, 64_000]);
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
    await using world = await open({ obeys: true, quick, delayMs: 300 });
    const { goald, server } = world;
    await using daemon = daemonOf(goald);
    const limits = { tokens: 400_000, usd: 1.5 };
    const flags = ["--max-tokens", String(limits.tokens), "--budget", String(limits.usd), "--max-steps", "100"];
    endedWith(0, await goald.ask(["run", "-d", ...AGENT, ...flags]));
    for (const helpers of [2, 4]) {
      const seen = () => new Set(server.bills.map(({ agent }) => agent)).size;
      await daemon.until(`${helpers} helpers think`, () => seen() > helpers && server.active > 0);
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
    expectNoneOverCap(server);
    expect(server.bills.some(({ outputTokens }) => outputTokens > 10_000)).toBe(true);
    expect(tokensOf(server.bills)).toBeLessThanOrEqual(limits.tokens);
    expect(usdOf(server.bills)).toBeLessThanOrEqual(limits.usd);
    const accounts = await accountsOf(goald);
    for (const [id, state] of Object.entries(accounts)) {
      const spent = spentOf(state);
      expect(spent.tokens).toBeLessThanOrEqual(state.settings.tokenLimit ?? 0);
      expect(spent.usd).toBeLessThanOrEqual(state.settings.budgetUsd ?? 0);
      // What the agent counts is at least what the server bills.
      const bills = server.bills.filter(({ agent }) => agent === state.name);
      if (id !== "t") expect(spent.tokens).toBeGreaterThanOrEqual(tokensOf(bills));
    }
  }, 90_000);
});

describe("a server that thinks for 60,000 tokens, and ignores the cap of a request", () => {
  it("is cut off soon after the cap, under both names of the cap, and pauses the agent", async () => {
    await using world = await open({ obeys: false });
    const { goald, server } = world;
    const ended = endedWith(10, await goald.ask([...RUN, "--max-tokens", "50000", "--budget", "1"]));
    expect(linesOf(ended).at(-1)).toMatchObject({
      outcome: "cap-ignored",
      reason: expect.stringMatching(/was told to send at most \d+ tokens \(max_tokens\), and sent at least 5\d{3}\./),
    });
    expect(server.chats.map((chat) => [chat.max_completion_tokens, chat.max_tokens])).toEqual([
      [4_000, undefined],
      [undefined, 4_000],
    ]);
    const { log, problems } = await lookInto(goald);
    expect(problems).toEqual([]);
    const failed = log.filter((event) => event.type === "model-failed");
    expect(failed.map(({ code }) => code)).toEqual(["cap-ignored", "cap-ignored"]);
    for (const { spent } of failed) expect(spent?.usage.outputTokens).toBeGreaterThan(5_000);
    for (const { spent } of failed) expect(spent?.usage.outputTokens).toBeLessThan(5_500);
    for (const { outputTokens } of server.bills) expect(outputTokens).toBeLessThan(THOUGHT_TOKENS);
    expect(spentOf(replay(log)).tokens).toBeGreaterThan(2 * 5_000);
    const stdout = await goald.print("show t");
    expect(stdout).toContain("goald resume t --model NAME");
  });

  it("exceeds a limit by less than the margin of the cap", async () => {
    await using world = await open({ obeys: false });
    const { goald } = world;
    endedWith(6, await goald.ask([...RUN, "--max-tokens", "10000", "--budget", "0.10"]));
    const spent = spentOf(replay((await lookInto(goald)).log));
    expect(spent.tokens).toBeLessThanOrEqual(10_000 + 1_000);
    expect(spent.usd).toBeLessThanOrEqual(0.1 + 1_000 * (8 / 1e6));
  });
});

// A model server on loopback that thinks for 60,000 tokens before each reply, and sends a bill.
//
// With the agents that are listed as quick it replies at once. It either obeys the maximum of a request, as servers
// with hidden reasoning do, which send no content when that is used up; or it ignores it and streams its thoughts until
// the client closes the connection.

const THOUGHT_TOKENS = 60_000;
/** US dollars per token of gpt-4.1 in the shipped prices. */
const INPUT_USD = 2 / 1e6;
const OUTPUT_USD = 8 / 1e6;
const LOT = 250;
/** Thinks slower than a connection fills. */
const PAUSE_MS = 5;

/** One request as the server bills it. */
interface Bill {
  readonly agent: string;
  /** The maximum that the request asked for. */
  readonly cap: number;
  readonly inputTokens: number;
  outputTokens: number;
}

interface ThinkingServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly bills: readonly Bill[];
  readonly chats: readonly ChatRequest[];
  /** Requests under way. */
  readonly active: number;
}

interface ThinkingOptions {
  readonly obeys: boolean;
  /** Answers at once; undefined for an agent that thinks. */
  readonly quick?: (request: ChatRequest) => string | undefined;
  /** Sent after the thoughts, when the maximum of the request is larger; by default nothing is. */
  readonly answer?: string;
  readonly delayMs?: number;
}

const tokensOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
const usdOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens * INPUT_USD + outputTokens * OUTPUT_USD, 0);

async function startThinkingServer({
  obeys,
  quick,
  answer: late,
  delayMs = 0,
}: ThinkingOptions): Promise<ThinkingServer> {
  const bills: Bill[] = [];
  const chats: ChatRequest[] = [];
  let active = 0;
  const loopback = await listenOnLoopback((incoming, outgoing) => {
    outgoing.on("error", () => undefined);
    void answer(incoming, outgoing);
  });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const text = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString("utf8");
    if (incoming.url !== "/v1/chat/completions") {
      outgoing.writeHead(404).end();
      return;
    }
    const request = JSON.parse(text) as ChatRequest;
    chats.push(request);
    const cap = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
    const chars = request.messages.reduce((sum, { content }) => sum + content.length, 0);
    const bill: Bill = { agent: nameIn(request), cap, inputTokens: Math.ceil(chars / 5), outputTokens: 0 };
    bills.push(bill);
    active++;
    await sleep(delayMs);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    await reply(bill, quick?.(request), outgoing);
    outgoing.end();
    active--;
  }

  async function reply(bill: Bill, text: string | undefined, outgoing: ServerResponse): Promise<void> {
    if (text !== undefined) {
      bill.outputTokens = Math.ceil(text.length / 4);
      send(outgoing, { content: text }, "stop", bill);
      return;
    }
    if (obeys) {
      // The thoughts are hidden, and billed even if the client is gone.
      const isComplete = late !== undefined && bill.cap > THOUGHT_TOKENS;
      bill.outputTokens = Math.min(THOUGHT_TOKENS, bill.cap);
      send(outgoing, isComplete ? { content: late } : { role: "assistant" }, isComplete ? "stop" : "length", bill);
      return;
    }
    while (bill.outputTokens < THOUGHT_TOKENS && !outgoing.destroyed) {
      bill.outputTokens += LOT;
      outgoing.write(chunk({ reasoning_content: "word".repeat(LOT) }, null));
      await sleep(PAUSE_MS);
    }
    send(outgoing, { content: "" }, "stop", bill);
  }

  return {
    baseUrl: `${loopback.origin}/v1`,
    bills,
    chats,
    get active() {
      return active;
    },
    [Symbol.asyncDispose]: loopback.close,
  };
}

const chunk = (delta: object, finishReason: string | null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;

function send(
  outgoing: ServerResponse,
  delta: object,
  finishReason: string,
  { inputTokens, outputTokens }: Bill,
): void {
  const details = { completion_tokens_details: { reasoning_tokens: outputTokens } };
  const usage = { prompt_tokens: inputTokens, completion_tokens: outputTokens, ...details };
  outgoing.write(chunk(delta, null) + chunk({}, finishReason));
  outgoing.write(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}
