/**
 * ask-model.ts -- one model call: recall, build the prompt, send the request, read the reply.
 *
 * Each request carries the maximum size of its reply, so that what it may cost is what the intent reserves. A request that
 * leaves no room for a useful reply is not sent. The reservation counts until the actual usage is known, so that limits
 * survive a crash. A server that ignores the maximum pauses the agent.
 */
import { commandCallId } from "#core/call.ts";
import { TASK_COMPLETE } from "#core/command-names.ts";
import type { Move } from "#core/decide.ts";
import type { ModelSpending, NewEvent } from "#core/event.ts";
import { LEAST_REPLY_TOKENS, type LimitReached, limitExceededBy, spendIf } from "#core/limits.ts";
import type { LanguageModel } from "#core/ports/model.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { lastThought } from "#reply/reply-thoughts.ts";
import { hashRequest } from "#views/request-hash.ts";
import { afterFailure, believedContext } from "./after-failure.ts";
import { leftOf, NOTHING } from "./allowance.ts";
import { type ComposeParts, composeRequest } from "./compose-request.ts";
import type { DescribeLeaving } from "./describe-leaving.ts";
import type { Journal } from "./journal.ts";
import { type MethodParts, suggestForReply } from "./method-search.ts";
import { capReply, fitRoom, type Room } from "./reply-cap.ts";
import { countEmbeddings, type Pricing, replied, reserve, spentOnCut } from "./reply-cost.ts";
import { formOf } from "./reply-forms.ts";
import { effectless, type Work } from "./work.ts";

export interface AskParts extends Room, ComposeParts, MethodParts, Pricing {
  readonly model: LanguageModel;
  /** Model of agents without a model of their own. */
  readonly modelName: string;
  /** Model used when an agent's own model fails permanently. */
  readonly fallbackModel?: string | null;
  /** Sizes for a given model. Default: those of `modelName`. */
  readonly roomOf?: (model: string) => Room;
  /** Receives the reply's text as it arrives, for display only. */
  readonly onText?: (piece: string) => void;
  /** Returns the text that each call would send out (policy.ts). Absent: no call is judged by its text. */
  readonly describeLeaving?: DescribeLeaving;
  /** Random number from 0 to 1 for retry delays. Default: Math.random. */
  random?(): number;
}

export async function ask(move: Extract<Move, { kind: "ask" }>, journal: Journal, parts: AskParts): Promise<Work> {
  const { step, callId, attempt } = move;
  const { state } = journal;
  const model = modelFor(state, parts);
  const price = parts.priceOf?.(model);
  // Checked before the recall too, because it may send a request.
  const hopeless = limitExceededBy({ model, tokens: 0, usd: price ? 0 : null }, state);
  if (hopeless) return pause(hopeless);
  const terms = await parts.model.terms?.(model);
  const embeddings = countEmbeddings(parts);
  const room = fitRoom(parts.roomOf?.(model) ?? parts, terms?.contextTokens ?? null);
  const counting = { ...parts, countTokens: embeddings.countTokens };
  const { prompt, mode, attached, formatTokens } = await composeRequest(step, state, counting, room, terms);
  const spent = embeddings.spent();
  if ("tooLong" in prompt) {
    // Nothing can be left out any more. Forget the assumed limit, so that a resume measures it again.
    if (terms?.contextTokens) await parts.model.noteContext?.(model, null);
    return pause({ code: "prompt-too-long", reason: prompt.tooLong }, spent);
  }
  const inputTokens = prompt.tokens + formatTokens;
  const least = Math.min(LEAST_REPLY_TOKENS, room.replyTokens);
  const paid = spendIf(state, spent);
  const limit = limitExceededBy({ model, ...reserve(inputTokens, least, price) }, paid);
  if (limit) return pause(limit, spent);
  const need = { ...room, inputTokens, cutReplies: state.cutReplies, mostTokens: terms?.replyTokens ?? null, price };
  const maxTokens = capReply(need, leftOf(paid, NOTHING));
  const reserved = reserve(inputTokens, maxTokens, price);
  const request = { model, messages: prompt.messages, maxTokens };
  const asked: NewEvent = {
    type: "model-asked",
    step,
    callId,
    attempt,
    epoch: journal.lease.epoch,
    model,
    mode,
    requestHash: hashRequest(model, prompt.messages),
    recallIds: prompt.recallIds,
    ...(prompt.recallIds.length > 0 ? { shown: prompt.shown } : {}),
    ...(spent ? { spent } : {}),
    ...(prompt.folder === "" ? {} : { folder: prompt.folder }),
    ...(prompt.outside.length > 0 ? { outside: prompt.outside } : {}),
    reservedTokens: reserved.tokens,
    reservedUsd: reserved.usd,
  };
  return {
    intent: { events: [asked] },
    act: async () => {
      const startedAt = parts.clock.now();
      const answer = await parts.model.complete({ ...request, mode, ...attached }, parts.signal, parts.onText);
      const now = parts.clock.now();
      if (answer.kind === "failed") {
        if (answer.code === "context-overflow")
          await parts.model.noteContext?.(model, believedContext(answer, reserved.tokens));
        const { fallbackModel = null, random = Math.random } = parts;
        const failure = { ...answer, ...spentOnCut(answer, inputTokens, price) };
        return {
          events: afterFailure(failure, { step, callId, model }, journal.state, { now, random, fallbackModel }),
        };
      }
      const durationMs = now.getTime() - startedAt.getTime();
      // A replay receives the redacted text, and must estimate the same usage.
      const text = journal.scrub(answer.text);
      const call = { step, callId, price, promptTokens: prompt.tokens, maxTokens };
      return { events: replied({ ...answer, text }, call, durationMs) };
    },
  };
}

/** The agent's own model, or the fallback during its time. */
function modelFor({ settings, fallback }: AgentState, { clock, modelName }: AskParts): string {
  const own = settings.model ?? modelName;
  return fallback && clock.now().getTime() < Date.parse(fallback.until) ? fallback.model : own;
}

const pause = (
  why: LimitReached | { readonly code: "prompt-too-long"; readonly reason: string },
  spent?: ModelSpending,
): Work => effectless({ events: [{ type: "agent-paused", ...why, ...(spent ? { spent } : {}) }] });

export async function read(move: Extract<Move, { kind: "read" }>, journal: Journal, parts: AskParts): Promise<Work> {
  const { step, finishReason } = move;
  const { phase } = activeFrame(journal.state);
  const form = formOf(phase.kind === "reading" ? phase.mode : "plain");
  const commands = parts.commandsFor(journal.state);
  const reply = await journal.read(move.reply);
  const reading = form.read(commands, reply, finishReason, journal.state);
  // A truncated reply says nothing about the output mode.
  if (phase.kind === "reading" && finishReason !== "length")
    await parts.model.noteReply?.(phase.model, phase.mode, reading.kind === "command");
  const frame = activeFrame(journal.state);
  if (reading.kind === "problem") {
    const isResult = frame.kind === "run" && commands.get(reading.command ?? "")?.closesTurn === true;
    const bad = isResult ? { isBadResult: true as const } : {};
    const problems = [...reading.problems, ...(await suggestForReply(reading, journal.state, parts))];
    return effectless({ events: [{ type: "reply-rejected", step, problems, ...bad }] });
  }
  const { call: written, further = [], repaired, thoughts } = reading;
  const thought = thoughts.speak || thoughts.text;
  const isBare = written.name === TASK_COMPLETE && String(written.args.reason).trim() === "";
  const call = isBare ? { ...written, args: { reason: thought || lastThought(frame.window) } } : written;
  const calls = [{ call, thought }, ...further];
  const leaving = await parts.describeLeaving?.(
    calls.map(({ call }) => call),
    journal,
  );
  const events = calls.map(({ call, thought }, index): NewEvent => {
    const of = { step, callId: commandCallId(frame, step, index) };
    const leaves = leaving?.[index] ? { leaving: leaving[index] } : {};
    return { type: "command-requested", ...of, call, thought: oneLine(thought, 400), repaired, ...leaves };
  });
  return effectless({ events });
}
