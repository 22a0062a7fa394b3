/**
 * answers.ts -- records and plays the answers of the three ports that come from outside: the model, the embedder, and
 * the statuses of addresses in checks.
 *
 * Everything else that reaches outside is recorded as the outcome of its command. Step, attempt and ordinal identify an
 * answer; a replay gives it only for the same request.
 */
import type { AddressStatus } from "#core/goal-check.ts";
import type { Embedder } from "#core/ports/memory.ts";
import type { LanguageModel, ModelAnswer } from "#core/ports/model.ts";
import { sha256 } from "#store/chain.ts";
import { canonicalJson } from "#util/json.ts";
import { type Redact, redactJson } from "#util/redact.ts";
import { decodeError, encodeError } from "./folder.ts";
import type { AnswerLine, ErrorChain, Port } from "./format.ts";
import { createOrdinals, type Place } from "./tape.ts";

/** Asks a port, or takes what it answered. `request` and the answer are plain JSON. */
export type AskPort = <T>(port: Port, request: unknown, ask: () => Promise<T>) => Promise<T>;
/** Returns an external value, or the recorded one. It is plain JSON. */
type KeepValue = <T>(name: string, compute: () => Promise<T>) => Promise<T>;

/** Longer requests are compared only by hash. */
const MAX_KEPT_CHARS = 256 * 1024;

interface AnswersRecording {
  readonly redact: Redact;
  /** Null inside a call whose outcome is recorded as a whole. */
  place(): Place | null;
  write(line: AnswerLine): void;
}

export function recordAnswers({ redact, place, write }: AnswersRecording): AskPort {
  const nextOrdinal = createOrdinals();
  return async (port, request, ask) => {
    const at = place();
    if (!at) return ask();
    const key = { port, ...at, ordinal: nextOrdinal(at), request: describeRequest(request, redact) };
    try {
      const value = await ask();
      write({ type: "answer", ...key, answer: { value: redactJson(value, redact) } });
      return value;
    } catch (error) {
      write({ type: "answer", ...key, answer: { error: encodeError(error, redact) } });
      throw error;
    }
  };
}

export type PlayedAnswers = ReturnType<typeof playAnswers>;

export function playAnswers(
  lines: readonly AnswerLine[],
  place: () => Place,
  redact: Redact,
  fail: (what: string) => never,
) {
  const waiting = new Map(lines.map((line) => [keyOf(line), line]));
  const nextOrdinal = createOrdinals();
  let played = 0;
  return {
    async ask<T>(port: Port, given: unknown): Promise<T> {
      const at = place();
      const ordinal = nextOrdinal(at);
      const line = waiting.get(keyOf({ ...at, ordinal }));
      if (!line) return fail(`it asks the ${port}, request ${ordinal}, which is not in the recording`);
      const request = describeRequest(given, redact);
      if (line.port !== port) return fail(`request ${ordinal} was one to the ${line.port}, and is one to the ${port}`);
      if (line.request.sha256 !== request.sha256)
        return fail(`request ${ordinal} differs: ${differenceOf(line.request, request)}`);
      waiting.delete(keyOf(line));
      played++;
      if ("error" in line.answer) throw decodeError(line.answer.error);
      return line.answer.value as T;
    },
    get played() {
      return played;
    },
    /** Returns a recorded request that the run has not made. */
    left: (): string | undefined => {
      const [first] = waiting.values();
      return first && `step ${first.step}, to the ${first.port}`;
    },
  };
}

const keyOf = ({ step, attempt, ordinal }: Place & { readonly ordinal: number }): string =>
  `${step}/${attempt}/${ordinal}`;

function describeRequest(request: unknown, redact: Redact): AnswerLine["request"] {
  const json = redactJson(request, redact);
  const text = canonicalJson(json);
  return { sha256: sha256(text), ...(text.length <= MAX_KEPT_CHARS ? { json } : {}) };
}

/** Ports whose answers are recorded or played. A replay neither opens a model nor asks what it replaces. */
export const tapePorts = (ask: AskPort, keep: KeepValue) => ({
  model: (open: () => LanguageModel) => tapeModel(open, ask, keep),
  embedder: (embedder: Embedder) => tapeEmbedder(embedder, ask),
  statuses: (statuses: AddressStatus) => tapeStatuses(statuses, ask),
});
export type TapedPorts = ReturnType<typeof tapePorts>;

/** Requests depend on what a server accepts, so its terms are recorded as values. */
function tapeModel(open: () => LanguageModel, ask: AskPort, keep: KeepValue): LanguageModel {
  let real: LanguageModel | undefined;
  const model = (): LanguageModel => {
    real ??= open();
    return real;
  };
  return {
    async complete(request, signal, onText) {
      let isLive = false;
      const answer = await ask<ModelAnswer>("model", request, () => {
        isLive = true;
        return model().complete(request, signal, onText);
      });
      if (!isLive && answer.kind === "replied") onText?.(answer.text);
      return answer;
    },
    terms: (name) => keep(`terms of ${name}`, async () => model().terms?.(name) ?? PLAIN_TERMS),
    noteReply: async (...given) => real?.noteReply?.(...given),
    noteContext: async (...given) => real?.noteContext?.(...given),
  };
}

const PLAIN_TERMS = { mode: "plain", contextTokens: null } as const;

/** `embedder`: opens no connection before it is asked. */
function tapeEmbedder(embedder: Embedder, ask: AskPort): Embedder {
  let dimensions: number | undefined;
  const modelOf = (id: string): string => id.slice(0, id.lastIndexOf("@"));
  return {
    get id() {
      return dimensions === undefined ? embedder.id : `${modelOf(embedder.id)}@${dimensions}`;
    },
    get dimensions() {
      return dimensions ?? embedder.dimensions;
    },
    local: embedder.local,
    semantic: embedder.semantic,
    async embed(texts, signal, countTokens) {
      let failure: unknown;
      const answer = await ask<EmbedderAnswer>("embedder", texts, async () => {
        let tokens = 0;
        const count = (charged: number): void => {
          tokens += charged;
        };
        try {
          const vectors = await embedder.embed(texts, signal, count);
          return { tokens, vectors: vectors.map(encodeVector) };
        } catch (thrown) {
          failure = thrown;
          return { tokens, error: encodeError(thrown, (text) => text) };
        }
      });
      if (answer.tokens > 0) countTokens?.(answer.tokens);
      if ("error" in answer) throw failure ?? decodeError(answer.error);
      const vectors = answer.vectors.map(decodeVector);
      dimensions = vectors[0]?.length ?? dimensions;
      return vectors;
    },
  };
}

/** A server may charge for an answer that cannot be used. */
type EmbedderAnswer = { readonly tokens: number } & (
  | { readonly vectors: readonly string[] }
  | { readonly error: ErrorChain }
);

const encodeVector = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");
const decodeVector = (text: string): Float32Array =>
  new Float32Array(new Uint8Array(Buffer.from(text, "base64")).buffer);

const tapeStatuses = (statuses: AddressStatus, ask: AskPort): AddressStatus => ({
  get: (url, options, signal) => ask("statuses", { url, ...options }, () => statuses.get(url, options, signal)),
});

const AROUND = 40;

function differenceOf(recorded: AnswerLine["request"], now: AnswerLine["request"]): string {
  if (!("json" in recorded) || !("json" in now)) return "it is another one, and the recording has only its hash";
  return firstDifference(recorded.json, now.json, "it") ?? "it is written in another way";
}

/** Searches depth first, in the order of the members. */
function firstDifference(recorded: unknown, now: unknown, path: string): string | undefined {
  if (typeof recorded === "string" && typeof now === "string")
    return recorded === now ? undefined : textDifference(recorded, now, path);
  if (!isObject(recorded) || !isObject(now) || Array.isArray(recorded) !== Array.isArray(now))
    return Object.is(recorded, now) ? undefined : `${path} was ${excerpt(recorded)}, and is ${excerpt(now)}`;
  for (const name of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const inner = Array.isArray(now) ? `${path}[${name}]` : `${path}.${name}`;
    if (!Object.hasOwn(now, name)) return `${inner} is missing; it was ${excerpt(recorded[name])}`;
    if (!Object.hasOwn(recorded, name)) return `${inner} is new: ${excerpt(now[name])}`;
    const found = firstDifference(recorded[name], now[name], inner);
    if (found) return found;
  }
  return undefined;
}

function textDifference(recorded: string, now: string, path: string): string {
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  const part = (text: string): string =>
    JSON.stringify(text.slice(Math.max(0, at - AROUND), at + AROUND).toWellFormed());
  return `${path} differs from character ${at + 1} on: it was ${part(recorded)}, and is ${part(now)}`;
}

const excerpt = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 2 * AROUND ? text : `${text.slice(0, 2 * AROUND).toWellFormed()}…`;
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
