/**
 * messages.ts -- renders one message of short-term memory for the model.
 *
 * A reply is sent as `assistant`. Any other message is sent as `user`: a line of our words that names the source, then
 * the text in a delimiter. Control characters are removed from text of any source.
 */

import { isCellCommand } from "#core/command-names.ts";
import type { PromptMessage } from "#core/ports/model.ts";
import type { Message } from "#core/state.ts";
import { clip, headOf, isBlobRef } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { showObservation } from "./action-history.ts";
import { delimitText } from "./delimit.ts";
import { describeMessageSource } from "./describe-source.ts";
import { formatName } from "./format-name.ts";
import { JSON_STYLE, type MessageStyle, showReply } from "./show-reply.ts";
import { fillTemplate, type Words } from "./template.ts";
import { estimateMessage, shrinkText } from "./tokens.ts";

export interface RenderedMessage {
  readonly message: Message;
  readonly prompt: PromptMessage;
  readonly tokens: number;
  readonly isClipped: boolean;
}

/** Renders a whole message, once per message object, words and style: state keeps its objects between steps. */
export function renderMessage(message: Message, words: Words, style: MessageStyle = JSON_STYLE): RenderedMessage {
  const number = style.form.form === "react" ? style.numberOf(message) : 0;
  return renderWhole(message, words, style.form, number);
}

const renderWhole = rememberBy(
  (message: Message, words: Words, form: MessageStyle["form"], number: number): RenderedMessage =>
    renderWithin(message, words, { form, numberOf: () => number }, Number.POSITIVE_INFINITY),
);

/** Clips a message in the middle to at most `maxTokens`, or to its bare frame when that is larger. */
export function renderClipped(
  whole: RenderedMessage,
  words: Words,
  maxTokens: number,
  style: MessageStyle = JSON_STYLE,
): RenderedMessage {
  if (whole.tokens <= maxTokens) return whole;
  const { message } = whole;
  const length = headOf(message.text).length;
  return shrinkText(length, whole.tokens, maxTokens, (limit) => renderWithin(message, words, style, limit));
}

/** Renders the smallest form of a message: its frame and the gap mark. */
export const renderMinimal = (message: Message, words: Words, style: MessageStyle = JSON_STYLE): RenderedMessage =>
  renderClipped(renderMessage(message, words, style), words, 0, style);

/** Room for the gap mark: a fully clipped text must not look like an empty one. */
const GAP_CHARS = 48;

function renderWithin(message: Message, words: Words, style: MessageStyle, maxChars: number): RenderedMessage {
  const cleaned = clean(headOf(message.text)).toWellFormed();
  const whole = message.kind === "reply" ? showReply(message, cleaned, style) : cleaned;
  const clipped = clip(whole, Math.max(maxChars, GAP_CHARS));
  // The gap mark can be longer than the clipped text.
  const isClipped = clipped.length < whole.length;
  const shown = isClipped ? clipped : whole;
  const prompt = toPromptMessage(message, completeText(message, shown, words), words, style);
  return { message, prompt, tokens: estimateMessage(prompt.content), isClipped };
}

function completeText({ text }: Message, shown: string, words: Words): string {
  if (isBlobRef(text)) return `${shown}\n${fillTemplate(words["spilled-text"], { bytes: String(text.bytes) })}`;
  return shown.trim() === "" ? fillTemplate(words["empty-text"], {}) : shown;
}

function toPromptMessage(message: Message, text: string, words: Words, style: MessageStyle): PromptMessage {
  const step = String(message.step);
  const from = formatName(message.from);
  switch (message.kind) {
    case "reply":
      return { role: "assistant", content: text };
    case "result": {
      if (style.form.form === "plan") return showObservation(message, text, words, style.form);
      const status = message.status ?? "ok";
      const values = {
        step,
        status,
        command: from,
        source: describeMessageSource(message),
        data: delimitText("data", text),
      };
      const number = String(style.numberOf(message));
      return { role: "user", content: fillTemplate(words[resultWords(message, style)], { ...values, number }) };
    }
    case "task":
      return { role: "user", content: fillTemplate(words.task, { step, from, words: delimitText("words", text) }) };
    case "report": {
      const status = message.status ?? "ok";
      return {
        role: "user",
        content: fillTemplate(words.report, { step, from, status, data: delimitText("data", text) }),
      };
    }
    case "problem":
      if (style.form.form === "plan") return showObservation(message, text, words, style.form);
      return { role: "user", content: fillTemplate(words.problem, { step, data: delimitText("data", text) }) };
    case "feedback": {
      const template = message.status === "denied" ? words.denial : words.feedback;
      return { role: "user", content: fillTemplate(template, { step, from, words: delimitText("words", text) }) };
    }
  }
}

/** In the form `react` every result is an observation; in the form `code` only that of code is shown as one. */
function resultWords({ from }: Message, { form }: MessageStyle) {
  if (!("result" in form)) return "result";
  return form.form === "react" || isCellCommand(from) ? form.result : "result";
}
