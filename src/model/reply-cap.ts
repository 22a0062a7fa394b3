/**
 * reply-cap.ts -- the maximum size of a reply: sent with each request, and checked against what comes. Pure.
 *
 * A server that ignores it is noticed by its stream, reasoning included, or by the usage that it reports. A reply that obeys
 * must never be cut off, so the stream is counted from below: a piece with text is at least one token, and a token has at
 * most eight Latin characters or 2.5 ideographs on average, or 128 characters of white space (the longest tokens of
 * cl100k_base and o200k_base). What exceeds the cap by a quarter, at least 256 tokens, is cut. Every piece that ends a
 * silence is counted, so that no stream lasts for ever.
 */
import type { Usage } from "#core/event.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import type { AskedModel } from "./asked.ts";
import { readUsage } from "./usage.ts";

/** The name under which a server takes the cap. Older servers know only the second. */
export type CapName = "max_completion_tokens" | "max_tokens";

const LEAST_MARGIN = 256;

/** Tokens from which a reply exceeds the cap for certain. */
export const withMargin = (cap: number): number => cap + Math.max(LEAST_MARGIN, Math.ceil(cap / 4));

/** The maximum that a request carried; null when the server accepts none. */
type SentCap = { readonly name: CapName; readonly tokens: number } | null;

/** Adds the maximum of the request to a usage that exceeds it. */
export const noteExcess = (usage: Usage | null, cap: SentCap): Usage | null =>
  usage && cap && usage.outputTokens > cap.tokens ? { ...usage, allowedTokens: cap.tokens } : usage;

/** The sentence about more tokens than `maxTokens`. A report of the server need not be true. */
export function describeExcess(
  tokens: number,
  reported: Usage | null,
  { cap, maxTokens }: { readonly cap: SentCap; readonly maxTokens?: number },
  { server, model }: AskedModel,
): string {
  const told = cap
    ? `was told to send at most ${cap.tokens} tokens (${cap.name})`
    : `does not accept a maximum, which is ${maxTokens} tokens for this reply`;
  const came = reported?.outputTokens === tokens ? `, and reports ${tokens}` : `, and sent at least ${tokens}`;
  return `The model server at ${server} (model ${model}) ${told}${came}. They count as spent.`;
}

/** Thrown once a stream has exceeded the cap. `usage` has the server's own counts as far as they came. */
export class OverCapError extends Error {
  override readonly name = "OverCapError";
  readonly outputTokens: number;
  readonly usage: Usage | null;
  constructor(outputTokens: number, usage: Usage | null) {
    super(`The reply has more than ${outputTokens} tokens.`);
    this.outputTokens = outputTokens;
    this.usage = usage;
  }
}

interface ReplyMeter {
  /** Adds the texts of a piece of the reply. Output without a known text counts as one token. */
  add(delta: JsonRecord, isOutput: boolean): void;
  /** Throws an OverCapError if the estimate or the reported usage exceeds the maximum. */
  check(usage: unknown): void;
}

/** Names under which servers send reasoning. Some send the same text under two names. */
const REASONING = ["reasoning_content", "reasoning", "thinking", "reasoning_text"] as const;

export function createReplyMeter(maxTokens: number): ReplyMeter {
  let pieces = 0;
  let tokens = 0;
  return {
    add: (delta, isOutput) => {
      const reasoning = REASONING.map((name) => leastTokensIn(delta[name]));
      const others = [delta.content, delta.refusal, delta.tool_calls, delta.function_call].map(leastTokensIn);
      const added = Math.max(...reasoning) + others.reduce((sum, each) => sum + each, 0);
      tokens += added;
      if (added > 0 || isOutput) pieces++;
    },
    check: (given) => {
      const usage = readUsage(given);
      const least = Math.ceil(Math.max(usage?.outputTokens ?? 0, tokens, pieces));
      if (least > maxTokens) throw new OverCapError(least, usage);
    },
  };
}

/** Members that hold text of the model. Ids, types and names of tools are left out. */
const TEXTS: ReadonlySet<string> = new Set(["text", "arguments", "function", "content", "summary"]);

function leastTokensIn(value: unknown): number {
  if (typeof value === "string") return leastTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + leastTokensIn(each), 0);
  if (!isRecord(value)) return 0;
  return Object.entries(value).reduce((sum, [name, each]) => sum + (TEXTS.has(name) ? leastTokensIn(each) : 0), 0);
}

/** White space that is longer than the gap between two words. */
const BLANKS = /\s{2,}/g;
const IDEOGRAPHS = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g;

/** The fewest tokens that a text can have. */
export function leastTokens(text: string): number {
  const ideographs = text.match(IDEOGRAPHS)?.length ?? 0;
  const blanks = text.match(BLANKS)?.join("").length ?? 0;
  return (text.length - ideographs - blanks) / 8 + ideographs / 2.5 + blanks / 128;
}
