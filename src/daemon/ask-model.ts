/**
 * ask-model.ts -- one question to the model: recall, prompt, request, reply, and reading it.
 *
 * What a request may cost is reserved in its intent, and a request that the agent's limits have no room for is
 * never sent: what was reserved counts until the reply says what was used, so that a limit survives a crash.
 */
import { hash } from "node:crypto";
import { commandCallId, type Move } from "#core/decide.ts";
import { isGoaldError } from "#core/errors.ts";
import type { NewEvent, Usage } from "#core/event.ts";
import { costOf, type LimitReached, limitExceededBy, type Price } from "#core/limits.ts";
import type { Clock, LanguageModel, LongTermMemory, ModelAnswer } from "#core/ports.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { headOf, oneLine } from "#core/text.ts";
import { buildPrompt, type Prompt } from "#prompt/build.ts";
import type { Words } from "#prompt/template.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import type { Reading } from "#reply/read.ts";
import type { Journal } from "./journal.ts";
import { effectless, type Work } from "./work.ts";

/** How long a request may be. */
interface Room {
  /** Prompt and reply together. */
  readonly contextTokens: number;
  /** Of that, kept for the reply. */
  readonly replyTokens: number;
}

export interface AskParts extends Room {
  readonly agentId: string;
  readonly model: LanguageModel;
  /** For an agent that names none itself. */
  readonly modelName: string;
  /** Without it, and when it answers undefined, no price is known: an agent with a budget asks nothing then. */
  readonly priceOf?: (model: string) => Price | undefined;
  readonly memory: LongTermMemory;
  readonly recallCount: number;
  readonly commandList: string;
  readonly words: Words;
  /** The room of the model that the agent's own settings name; without it every model has that of `modelName`. */
  readonly roomOf?: (model: string) => Room;
  readReply(text: string, finishReason: string): Reading;
  readonly clock: Clock;
  /** Aborted when the host goes down at once. */
  readonly signal: AbortSignal;
  /** Told the pieces of a reply as they arrive: for eyes only, nothing of it has happened. */
  readonly onText?: (piece: string) => void;
}

export async function ask(move: Extract<Move, { kind: "ask" }>, journal: Journal, parts: AskParts): Promise<Work> {
  const { step, callId, attempt } = move;
  const { state } = journal;
  const model = state.settings.model ?? parts.modelName;
  const price = parts.priceOf?.(model);
  // Asked before the recall too, which may call a server.
  const hopeless = limitExceededBy({ model, tokens: 0, usd: price ? 0 : null }, state);
  if (hopeless) return pause(hopeless);
  const room = parts.roomOf?.(model) ?? parts;
  const prompt = await composePrompt(state, parts, room);
  if ("tooLong" in prompt) return pause({ code: "prompt-too-long", reason: prompt.tooLong });
  const reserved = reserve(prompt.tokens, room.replyTokens, price);
  const limit = limitExceededBy({ model, ...reserved }, state);
  if (limit) return pause(limit);
  const request = { model, messages: prompt.messages };
  const asked: NewEvent = {
    type: "model-asked",
    step,
    callId,
    attempt,
    epoch: journal.lease.epoch,
    model,
    mode: "plain",
    requestHash: hash("sha256", JSON.stringify(request), "hex"),
    recallIds: prompt.recallIds,
    reservedTokens: reserved.tokens,
    reservedUsd: reserved.usd,
  };
  return {
    intent: { events: [asked] },
    act: async () => {
      const startedAt = parts.clock.now();
      const answer = await parts.model.complete(request, parts.signal, parts.onText);
      const durationMs = parts.clock.now().getTime() - startedAt.getTime();
      const call = { step, callId, attempt, price, promptTokens: prompt.tokens };
      return { events: answerEvents(answer, call, durationMs, parts.clock) };
    },
  };
}

/** The most that the request may take: nothing of the prompt is cached, and the reply fills its room. */
function reserve(promptTokens: number, replyTokens: number, price: Price | undefined) {
  const most = { inputTokens: promptTokens, cachedTokens: 0, outputTokens: replyTokens };
  return { tokens: promptTokens + replyTokens, usd: price ? costOf(most, price) : null };
}

const pause = (why: LimitReached | { readonly code: "prompt-too-long"; readonly reason: string }): Work =>
  effectless({ events: [{ type: "agent-paused", ...why }] });

/** The query is the short-term memory itself; what it shows is never recalled. */
async function composePrompt(
  state: AgentState,
  parts: AskParts,
  { contextTokens, replyTokens }: Room,
): Promise<Prompt | { readonly tooLong: string }> {
  const { window } = activeFrame(state);
  const recalls = await parts.memory.recall(
    {
      agent: parts.agentId,
      texts: window.length > 0 ? window.map((message) => headOf(message.text)) : [...state.goals],
      count: parts.recallCount,
      excludeSteps: new Set(window.map((message) => message.step)),
    },
    parts.signal,
  );
  const { commandList, words } = parts;
  try {
    return buildPrompt({ state, commandList, recalls, words, contextTokens, replyTokens, now: parts.clock.now() });
  } catch (error) {
    if (isGoaldError(error, "GOALD_PROMPT_TOO_LONG"))
      return { tooLong: error.hint ? `${error.message} ${error.hint}` : error.message };
    throw error;
  }
}

interface AskedCall {
  readonly step: number;
  readonly callId: string;
  readonly attempt: number;
  readonly price: Price | undefined;
  readonly promptTokens: number;
}

function answerEvents(answer: ModelAnswer, asked: AskedCall, durationMs: number, clock: Clock): readonly NewEvent[] {
  const { step, callId, price } = asked;
  const call = { step, callId };
  if (answer.kind === "replied") {
    const { text, finishReason } = answer;
    const usage = answer.usage ?? estimatedUsage(asked.promptTokens, text);
    const costUsd = price ? costOf(usage, price) : null;
    return [{ type: "model-replied", ...call, text, finishReason, usage, costUsd, durationMs }];
  }
  const { code, message, retry } = answer;
  if (retry) {
    const waitMs = Math.min(MAX_WAIT_MS, Math.max(0, retry.afterMs ?? backoffMs(asked.attempt)));
    const retryAt = new Date(clock.now().getTime() + waitMs).toISOString();
    return [{ type: "model-failed", ...call, code, message, retryAt }];
  }
  const pauseCode = code === "unauthorized" || code === "quota-exhausted" ? "key-refused" : "model-refused";
  return [
    { type: "model-failed", ...call, code, message, retryAt: null },
    { type: "agent-paused", code: pauseCode, reason: message },
  ];
}

const estimatedUsage = (promptTokens: number, reply: string): Usage => ({
  inputTokens: promptTokens,
  outputTokens: estimateTokens(reply),
  cachedTokens: 0,
  estimated: true,
});

/** A day: what a server may ask for; one that says more is asked again then. */
const MAX_WAIT_MS = 24 * 3_600_000;

/** 1, 2, 4, … 60 seconds. */
const backoffMs = (attempt: number): number => Math.min(60_000, 1000 * 2 ** (attempt - 1));

export async function read(move: Extract<Move, { kind: "read" }>, journal: Journal, parts: AskParts): Promise<Work> {
  const { step, finishReason } = move;
  const reading = parts.readReply(await journal.read(move.reply), finishReason);
  if (reading.kind === "problem")
    return effectless({ events: [{ type: "reply-rejected", step, problems: reading.problems }] });
  const { call, repaired, thoughts } = reading;
  const thought = oneLine(thoughts.speak || thoughts.text, 400);
  const callId = commandCallId(step);
  return effectless({ events: [{ type: "command-requested", step, callId, call, thought, repaired }] });
}
