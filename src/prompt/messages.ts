/**
 * messages.ts -- one message of short-term memory as the model reads it.
 *
 * A reply is the model's own and comes back as `assistant`. Everything else is `user`: a line of our
 * words that says where the text came from, and the text in a delimiter that it cannot
 * close. No text from outside reaches the system message, and none keeps control characters.
 */
import type { PromptMessage } from "#core/ports/model.ts";
import type { Message } from "#core/state.ts";
import { clip, headOf, isBlobRef, oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { delimit } from "./delimit.ts";
import { fill, type Words } from "./template.ts";
import { estimateMessage, shrink } from "./tokens.ts";

export interface RenderedMessage {
  readonly message: Message;
  readonly prompt: PromptMessage;
  readonly tokens: number;
  readonly isClipped: boolean;
}

/** Whole. The same message with the same words is rendered once: state keeps its objects between steps. */
export function renderMessage(message: Message, words: Words): RenderedMessage {
  const remembered = renderings.get(words) ?? new WeakMap<Message, RenderedMessage>();
  renderings.set(words, remembered);
  const known = remembered.get(message);
  if (known) return known;
  const rendered = renderAt(message, words, Number.POSITIVE_INFINITY);
  remembered.set(message, rendered);
  return rendered;
}

/** Clipped from the middle to at most `maxTokens`; when even the bare frame is more, that. */
export function renderClipped(whole: RenderedMessage, words: Words, maxTokens: number): RenderedMessage {
  if (whole.tokens <= maxTokens) return whole;
  const length = headOf(whole.message.text).length;
  return shrink(length, whole.tokens, maxTokens, (limit) => renderAt(whole.message, words, limit));
}

/** The frame of a message with nearly all of its text left out: the least that must find room. */
export const minimalMessage = (message: Message, words: Words): RenderedMessage =>
  renderClipped(renderMessage(message, words), words, 0);

const renderings = new WeakMap<Words, WeakMap<Message, RenderedMessage>>();

/** Room for the words that name the gap: a text of which nothing is left must not look like an empty one. */
const GAP_CHARS = 48;

function renderAt(message: Message, words: Words, maxChars: number): RenderedMessage {
  const cleaned = clean(headOf(message.text)).toWellFormed();
  const clipped = clip(cleaned, Math.max(maxChars, GAP_CHARS));
  // The words that name a gap can be longer than the gap.
  const isClipped = clipped.length < cleaned.length;
  const shown = isClipped ? clipped : cleaned;
  const prompt = inWords(message, wholeText(message, shown, words), words);
  return { message, prompt, tokens: estimateMessage(prompt.content), isClipped };
}

function wholeText({ text }: Message, shown: string, words: Words): string {
  if (isBlobRef(text)) return `${shown}\n${fill(words["spilled-text"], { bytes: String(text.bytes) })}`;
  return shown.trim() === "" ? fill(words["empty-text"], {}) : shown;
}

function inWords(message: Message, text: string, words: Words): PromptMessage {
  const step = String(message.step);
  const from = nameLine(message.from);
  switch (message.kind) {
    case "reply":
      return { role: "assistant", content: text };
    case "result": {
      const status = message.status ?? "ok";
      const values = { step, status, command: from, source: message.source, data: delimit("data", text) };
      return { role: "user", content: fill(words.result, values) };
    }
    case "task":
      return { role: "user", content: fill(words.task, { step, from, words: delimit("words", text) }) };
    case "report": {
      const status = message.status ?? "ok";
      return { role: "user", content: fill(words.report, { step, from, status, data: delimit("data", text) }) };
    }
    case "problem":
      return { role: "user", content: fill(words.problem, { step, data: delimit("data", text) }) };
    case "feedback": {
      const template = message.status === "denied" ? words.denial : words.feedback;
      return { role: "user", content: fill(template, { step, from, words: delimit("words", text) }) };
    }
  }
}

/** A name outside the delimiter: one short line, whatever was put into it. */
export const nameLine = (name: string, maxChars = 80): string => oneLine(clean(name).replace(/[<>]/g, ""), maxChars);
