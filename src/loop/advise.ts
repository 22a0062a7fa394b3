/**
 * advise.ts -- lets a command ask a model one question about some material and get a valid answer. The cost counts
 * against the agent's limits: `command-started` reserves the maximum, no request that would exceed it is sent, and
 * `command-finished` records the actual spending. A retry that the server allows only after the command's timeout is a
 * failure that the model reads.
 */
import { GoaldError } from "#core/errors.ts";
import type { Usage } from "#core/event.ts";
import { bothUsed, costOf, LEAST_REPLY_TOKENS, mayHaveBeenCharged, type Price } from "#core/limits.ts";
import type { ModelAnswer, ModelCapabilities, PromptMessage } from "#core/ports/model.ts";
import type { Question } from "#core/services.ts";
import type { AgentState } from "#core/state.ts";
import { delimitText, formatName } from "#prompt/delimit.ts";
import { estimateMessage, TOKENS_PER_REQUEST } from "#prompt/tokens.ts";
import { fillTemplate, type TemplateName } from "#prompt/words.ts";
import { readValue } from "#reply/check-value.ts";
import { clean } from "#util/outside-text.ts";
import type { AskParts } from "./ask-model.ts";
import {
  capReply,
  estimateUsage,
  fitRoom,
  type Left,
  lackOf,
  leftOf,
  type Reservation,
  reserve,
  spentOnCut,
  tooDear,
  within,
} from "./reply-budget.ts";

export type AdviceParts = Pick<AskParts, "model" | "modelName" | "priceOf" | "words" | "roomOf" | "clock"> & {
  /** Model for small tasks; absent: the agent's own model. */
  readonly fastModel?: string;
  /** Removes known secrets from the material. */
  scrub?(text: string): string;
};

/** The question, and one retry that names the problem. */
const ASKS = 2;
const MAX_TRIES = 3;
const MAX_WAIT_MS = 10_000;

/** At most what the agent's limits leave beside other reservations. */
export function reservationFor(state: AgentState, parts: AdviceParts, others: Reservation): Reservation {
  const model = modelOf("smart", state, parts);
  const { contextTokens, replyTokens } = parts.roomOf(model);
  const most = reserve(ASKS * (contextTokens - replyTokens), ASKS * replyTokens, parts.priceOf?.(model));
  return within(most, leftOf(state, others));
}

export function openAdvice(state: AgentState, reserved: Reservation, parts: AdviceParts) {
  const hasBudget = state.settings.budgetUsd !== null;
  const tally = openTally({ tokens: reserved.tokens, usd: hasBudget ? (reserved.usd ?? 0) : Infinity });
  let { cutReplies } = state;

  async function ask(question: Question, signal: AbortSignal): Promise<{ value: unknown; usage: Usage }> {
    const model = modelOf(question.role, state, parts);
    let messages = messagesOf(question, parts);
    for (let asks = 1; ; asks++) {
      const answer = await complete(model, messages, question.schema, signal);
      const reading = readValue(answer.text, answer.finishReason, question.schema);
      // Neither a truncated answer nor wrong content of JSON says that the server rejects the output mode.
      if (answer.finishReason !== "length")
        await parts.model.noteReply?.(model, answer.mode, reading.kind === "value" || reading.isJson === true);
      if (reading.kind === "value") return { value: reading.value, usage: tally.usage() };
      if (asks === ASKS)
        throw failed(`The model ${model} gave no answer of the form that was asked for: ${reading.problems.join(" ")}`);
      const again = `${reading.problems.join("\n")}\n${fillTemplate(parts.words["advice/advice-again"])}`;
      const said = answer.text.trim() === "" ? [] : [{ role: "assistant", content: answer.text } as const];
      messages = [...messages, ...said, { role: "user", content: again }];
    }
  }

  async function complete(model: string, messages: readonly PromptMessage[], schema: object, signal: AbortSignal) {
    for (let tries = 1; ; tries++) {
      const terms = await parts.model.terms?.(model);
      const mode = terms?.mode ?? "plain";
      const { inputTokens, maxTokens } = fitting(model, messages, terms);
      const request = { model, messages, mode, replySchema: { schema, isStrict: true }, maxTokens };
      const answer = await parts.model.complete(request, signal);
      tally.add(answer, { inputTokens, maxTokens, price: parts.priceOf?.(model) });
      if (answer.kind === "replied") {
        if (answer.capIgnored) throw failed(answer.capIgnored);
        if (answer.finishReason === "length") cutReplies++;
        return { ...answer, mode };
      }
      const { retry, message } = answer;
      const waitMs = retry?.isChanged ? 0 : (retry?.afterMs ?? 1_000 * 2 ** (tries - 1));
      if (!retry || tries >= MAX_TRIES || waitMs > MAX_WAIT_MS) throw failed(message);
      await parts.clock.sleep(waitMs, signal);
      signal.throwIfAborted();
    }
  }

  /** Tokens of the request and of its reply at most. Throws when they exceed the context window or the agent's limits. */
  function fitting(model: string, messages: readonly PromptMessage[], terms: ModelCapabilities | undefined) {
    const room = fitRoom(parts.roomOf(model), terms?.contextTokens ?? null);
    const tokens = messages.reduce((sum, { content }) => sum + estimateMessage(content), TOKENS_PER_REQUEST);
    const most = room.contextTokens - room.replyTokens;
    if (tokens > most)
      throw failed(
        `The material has about ${tokens} tokens, and ${model} takes ${most} at once.`,
        "Give it less of it.",
      );
    const price = parts.priceOf?.(model);
    const left = tally.left();
    const lack = lackOf(reserve(tokens, Math.min(LEAST_REPLY_TOKENS, room.replyTokens), price), left);
    if (lack) throw notAsked(lack);
    if (hasBudget && !price) throw notAsked(`The price of ${model} is not known, and the agent has a budget.`);
    const need = { ...room, inputTokens: tokens, cutReplies, mostTokens: terms?.replyTokens ?? null, price };
    return { inputTokens: tokens, maxTokens: capReply(need, left) };
  }

  return { advisor: { ask }, spent: tally.spent };
}

function modelOf(role: Question["role"], { settings }: AgentState, { modelName, fastModel }: AdviceParts): string {
  const own = settings.model ?? modelName;
  return role === "fast" ? (fastModel ?? own) : own;
}

/** The instructions as system message, then the material as data. */
function messagesOf(
  { words: name, material, schema }: Question,
  { words, scrub = String }: AdviceParts,
): readonly PromptMessage[] {
  const task = words[`questions/${name}` as TemplateName];
  if (!task) throw new GoaldError("GOALD_TEMPLATE", `prompts/ has no section ${name} for this question.`);
  const content = fillTemplate(words["advice/advice"], {
    task: fillTemplate(task),
    schema: JSON.stringify(schema),
  });
  const given = material.map(({ label, text }): PromptMessage => {
    const data = delimitText("data", scrub(clean(text)).toWellFormed());
    return { role: "user", content: fillTemplate(words["advice/advice-material"], { label: formatName(label), data }) };
  });
  return [{ role: "system", content }, ...given];
}

/** What the questions of one call have cost so far. */
function openTally(most: Left) {
  let usage: Usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, estimated: false };
  let modelCalls = 0;
  let costUsd: number | null = 0;

  /** A failed call that may have been charged counts with the most that it could cost. */
  function add(
    answer: ModelAnswer,
    of: { readonly inputTokens: number; readonly maxTokens: number; readonly price: Price | undefined },
  ): void {
    const { inputTokens, maxTokens, price } = of;
    if (answer.kind === "failed" && !mayHaveBeenCharged(answer.code)) return;
    const counted =
      answer.kind === "replied"
        ? (answer.usage ?? estimateUsage(inputTokens, answer, maxTokens))
        : (spentOnCut(answer, inputTokens, price).spent?.usage ??
          estimateUsage(inputTokens, { text: "", finishReason: "length" }, maxTokens));
    modelCalls++;
    usage = bothUsed(usage, counted);
    costUsd = price && costUsd !== null ? costUsd + costOf(counted, price) : null;
  }

  return {
    add,
    usage: () => usage,
    /** Undefined when no request was sent. */
    spent: () => (modelCalls === 0 ? undefined : { usage, costUsd, modelCalls }),
    left: () => ({ tokens: most.tokens - usage.inputTokens - usage.outputTokens, usd: most.usd - (costUsd ?? 0) }),
  };
}

const failed = (message: string, hint = ""): GoaldError => new GoaldError("GOALD_MODEL", message, { hint });

const notAsked = (why: string): GoaldError =>
  tooDear("The question was not asked", why, "Do it without, or with less material.");
