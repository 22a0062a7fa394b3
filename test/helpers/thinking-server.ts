/**
 * thinking-server.ts -- a model server on loopback that thinks for 60,000 tokens before each reply, and sends a bill.
 *
 * With the agents that are listed as quick it replies at once. It either obeys the maximum of a request, as servers with
 * hidden reasoning do, which send no content when that is used up; or it ignores it and streams its thoughts until the
 * client closes the connection.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { listenOnLoopback } from "./loopback.ts";
import type { ChatRequest } from "./openai-answers.ts";
import { nameIn } from "./subagent-model.ts";

export const THOUGHT_TOKENS = 60_000;
/** US dollars per token of gpt-4.1 in the shipped prices. */
const INPUT_USD = 2 / 1e6;
const OUTPUT_USD = 8 / 1e6;
const LOT = 250;
/** Thinks slower than a connection fills. */
const PAUSE_MS = 5;

/** One request as the server bills it. */
export interface Bill {
  readonly agent: string;
  /** The maximum that the request asked for. */
  readonly cap: number;
  readonly inputTokens: number;
  outputTokens: number;
}

export interface ThinkingServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly bills: readonly Bill[];
  readonly chats: readonly ChatRequest[];
  /** Requests under way. */
  readonly active: number;
}

export interface ThinkingOptions {
  readonly obeys: boolean;
  /** Answers at once; undefined for an agent that thinks. */
  readonly quick?: (request: ChatRequest) => string | undefined;
  /** Sent after the thoughts, when the maximum of the request is larger; by default nothing is. */
  readonly answer?: string;
  readonly delayMs?: number;
}

export const tokensOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
export const usdOf = (bills: readonly Bill[]): number =>
  bills.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens * INPUT_USD + outputTokens * OUTPUT_USD, 0);

export async function startThinkingServer({
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
