/**
 * ask-model.ts -- one question to the model: recall, prompt, request, reply, and reading it.
 */
import { hash } from "node:crypto";
import { commandCallId, type Move } from "#core/decide.ts";
import { isGoaldError } from "#core/errors.ts";
import type { NewEvent } from "#core/event.ts";
import type { Clock, LanguageModel, LongTermMemory, ModelAnswer } from "#core/ports.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { headOf, oneLine } from "#core/text.ts";
import { buildPrompt, type Prompt } from "#prompt/build.ts";
import type { Words } from "#prompt/template.ts";
import { estimateTokens } from "#prompt/tokens.ts";
import type { Reading } from "#reply/read.ts";
import type { Journal } from "./journal.ts";
import { effectless, type Work } from "./work.ts";

export interface AskParts {
  readonly agentId: string;
  readonly model: LanguageModel;
  readonly modelName: string;
  readonly memory: LongTermMemory;
  readonly recallCount: number;
  readonly commandList: string;
  readonly words: Words;
  readonly contextTokens: number;
  readonly replyTokens: number;
  readReply(text: string, finishReason: string): Reading;
  readonly clock: Clock;
  /** Aborted when the host goes down at once. */
  readonly signal: AbortSignal;
}

export async function ask(move: Extract<Move, { kind: "ask" }>, journal: Journal, parts: AskParts): Promise<Work> {
  const { step, callId, attempt } = move;
  const prompt = await composePrompt(journal.state, parts);
  if ("tooLong" in prompt)
    return effectless({ events: [{ type: "agent-paused", code: "prompt-too-long", reason: prompt.tooLong }] });
  const request = { model: parts.modelName, messages: prompt.messages };
  const asked: NewEvent = {
    type: "model-asked",
    step,
    callId,
    attempt,
    epoch: journal.lease.epoch,
    model: parts.modelName,
    mode: "plain",
    requestHash: hash("sha256", JSON.stringify(request), "hex"),
    recallIds: prompt.recallIds,
    reservedTokens: prompt.tokens + parts.replyTokens,
  };
  return {
    intent: { events: [asked] },
    act: async () => {
      const startedAt = parts.clock.now();
      const answer = await parts.model.complete(request, parts.signal);
      const durationMs = parts.clock.now().getTime() - startedAt.getTime();
      return { events: answerEvents(answer, { step, callId }, prompt.tokens, durationMs, attempt, parts) };
    },
  };
}

/** The query is the short-term memory itself; what it shows is never recalled. */
async function composePrompt(state: AgentState, parts: AskParts): Promise<Prompt | { readonly tooLong: string }> {
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
  const { commandList, words, contextTokens, replyTokens } = parts;
  try {
    return buildPrompt({ state, commandList, recalls, words, contextTokens, replyTokens, now: parts.clock.now() });
  } catch (error) {
    if (isGoaldError(error, "GOALD_PROMPT_TOO_LONG"))
      return { tooLong: error.hint ? `${error.message} ${error.hint}` : error.message };
    throw error;
  }
}

function answerEvents(
  answer: ModelAnswer,
  call: { readonly step: number; readonly callId: string },
  promptTokens: number,
  durationMs: number,
  attempt: number,
  parts: AskParts,
): readonly NewEvent[] {
  if (answer.kind === "replied") {
    const { text, finishReason } = answer;
    const outputTokens = answer.usage ? 0 : estimateTokens(text);
    const usage = answer.usage ?? { inputTokens: promptTokens, outputTokens, cachedTokens: 0, estimated: true };
    return [{ type: "model-replied", ...call, text, finishReason, usage, durationMs }];
  }
  const { code, message, retry } = answer;
  if (retry) {
    const waitMs = Math.min(MAX_WAIT_MS, Math.max(0, retry.afterMs ?? backoffMs(attempt)));
    const retryAt = new Date(parts.clock.now().getTime() + waitMs).toISOString();
    return [{ type: "model-failed", ...call, code, message, retryAt }];
  }
  const pauseCode = code === "unauthorized" || code === "quota-exhausted" ? "key-refused" : "model-refused";
  return [
    { type: "model-failed", ...call, code, message, retryAt: null },
    { type: "agent-paused", code: pauseCode, reason: message },
  ];
}

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
