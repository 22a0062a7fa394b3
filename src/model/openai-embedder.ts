/**
 * openai-embedder.ts -- computes embeddings with a server that has the OpenAI embeddings API.
 *
 * Sends texts in batches and returns vectors in their order, or none: unit vectors, with NaN in one that has no
 * direction. Rejects a wrong count, a wrong length, and an answer of such vectors alone. Shortens texts that are too
 * long for the model and remembers the length that worked. Waits if the server asks for a short pause. Errors tell
 * whether the caller should fall back to a local embedder.
 */
import type OpenAI from "openai";
import { GoaldError } from "#core/errors.ts";
import { mayHaveBeenCharged } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, Embedder } from "#core/ports/memory.ts";
import { asRecord, parseJson } from "#util/json.ts";
import { quoteWithout } from "#util/outside-errors.ts";
import { isCount } from "./chat-stream.ts";
import { type AskedServer, createFailure, explainFailure, type ModelFailure } from "./failure.ts";
import { createSender, formatBaseUrl, type ModelServer, type Received } from "./model-server.ts";

/** `timeoutMs`: of one batch. */
export interface OpenAIEmbedderSettings extends Omit<ModelServer, "maxBytes"> {
  readonly model: string;
  /** Needed to wait for pauses. */
  readonly clock?: Pick<Clock, "sleep">;
}

/** Every known server accepts this many. */
const BATCH_TEXTS = 96;
/** Estimated tokens. OpenAI accepts 300,000 per request. */
const BATCH_TOKENS = 100_000;
/** Maximum pause, and number of pauses, that a recall can wait for. */
const MAX_EMBEDDING_PAUSE_MS = 3_000;
const MAX_PAUSES = 2;
/** About 8,000 tokens of English, the limit of OpenAI's models; lengths that fit into 2,048 and 512; 512 of Chinese. */
const TEXT_CHARS: readonly number[] = [24_000, 6_000, 1_500, 400];
/** 96 vectors of 4,096 decimal numbers take over 8 MB. */
const MAX_EMBEDDING_BYTES = 32 * 1024 * 1024;

/**
 * The first answer decides the dimensions: until then `dimensions` is 0 and `id` ends in `@0`.
 * `embed` rejects with GOALD_HTTP_REFUSED when there is no server or it will never answer, with GOALD_MODEL when a retry
 * may help, or with the signal's reason. Throws GOALD_CONFIG for an invalid base URL.
 */
export function createOpenAIEmbedder(settings: OpenAIEmbedderSettings): Embedder {
  const send = createSender({ ...settings, maxBytes: MAX_EMBEDDING_BYTES });
  const quote = quoteWithout(settings.apiKey);
  const asked: AskedServer = { server: formatBaseUrl(settings.baseUrl), model: quote(settings.model), quote };
  let dimensions = 0;
  let limitIndex = 0;

  return {
    get id() {
      return `${settings.model}@${dimensions}`;
    },
    get dimensions() {
      return dimensions;
    },
    local: false,
    semantic: true,
    async embed(texts, signal, countTokens) {
      const vectors: Float32Array[] = [];
      for (const batch of splitIntoBatches(texts)) vectors.push(...(await embedBatch(batch, signal, countTokens)));
      return vectors;
    },
  };

  async function embedBatch(
    texts: readonly string[],
    signal: AbortSignal,
    countTokens?: CountTokens,
  ): Promise<readonly Float32Array[]> {
    for (let pauses = 0; ; ) {
      signal.throwIfAborted();
      const used = limitIndex;
      try {
        const input = texts.map((text) => truncateText(text, TEXT_CHARS[used] ?? 0));
        const vectors = await requestVectors(input, signal, countTokens);
        dimensions = vectors[0]?.length ?? dimensions;
        return vectors;
      } catch (error) {
        signal.throwIfAborted();
        const failure =
          error instanceof VectorProblem ? explainVectorProblem(error, asked) : explainFailure(error, asked);
        const tooLong = failure.code === "context-overflow" && used < TEXT_CHARS.length - 1;
        const pauseMs = failure.retry?.afterMs ?? null;
        // Another batch may have shortened its texts meanwhile.
        if (tooLong) limitIndex = Math.max(limitIndex, used + 1);
        else if (pauseMs === null || pauseMs > MAX_EMBEDDING_PAUSE_MS || pauses === MAX_PAUSES || !settings.clock)
          throw createError(failure);
        else {
          pauses += 1;
          await settings.clock.sleep(pauseMs, signal);
        }
      }
    }
  }

  /** Sends one batch, and counts what it took: the figure of the server, else an estimate. */
  async function requestVectors(input: string[], signal: AbortSignal, countTokens?: CountTokens) {
    const tokens = input.reduce((sum, text) => sum + estimateEmbeddingTokens(text), 0);
    const body: OpenAI.EmbeddingCreateParams = { model: settings.model, input, encoding_format: "base64" };
    let charged = tokens;
    try {
      const response = await send("/embeddings", body, signal);
      const answer = parseJson(await response.text());
      charged = readUsedTokens(answer) ?? tokens;
      return readVectors(answer, input.length, dimensions);
    } catch (error) {
      const { code } = explainFailure(error, asked);
      if (charged === tokens && !mayHaveBeenCharged(code)) charged = 0;
      throw error;
    } finally {
      if (charged > 0) countTokens?.(charged);
    }
  }
}

const NO_SERVER: readonly string[] = ["no-connection", "connection-lost", "unknown-host", "timeout"];

/** With the pause that the server asks for. */
function createError({ code, message, retry }: ModelFailure): GoaldError {
  const hint = "Name a server and model for embeddings (EMBEDDING_MODEL), or do without: recall then works offline.";
  const error = new GoaldError(
    retry === null || NO_SERVER.includes(code) ? "GOALD_HTTP_REFUSED" : "GOALD_MODEL",
    `${message} ${retry ? "This may pass" : "This will not pass by itself"}: no embeddings for now.`,
    retry ? {} : { hint },
  );
  return Object.assign(error, { afterMs: retry?.afterMs ?? null });
}

const explainVectorProblem = (problem: VectorProblem, { server, model }: AskedServer) =>
  createFailure(
    "broken-vectors",
    `The model server at ${server} answered for embeddings with ${model}, but ${problem.message}.`,
    null,
  );

/** Overestimates tokens, to stay below the server's limits. */
const estimateEmbeddingTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

function readUsedTokens(answer: unknown): number | undefined {
  const { usage }: Received<OpenAI.CreateEmbeddingResponse> = asRecord(answer);
  const { prompt_tokens: tokens }: Received<OpenAI.CreateEmbeddingResponse.Usage> = asRecord(usage);
  return isCount(tokens) ? tokens : undefined;
}

/** Splits texts into batches below both limits, in order. */
function splitIntoBatches(texts: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let tokens = 0;
  for (const text of texts) {
    const last = batches.at(-1);
    const own = estimateEmbeddingTokens(text.slice(0, TEXT_CHARS[0]));
    if (last && last.length < BATCH_TEXTS && tokens + own <= BATCH_TOKENS) {
      last.push(text);
      tokens += own;
    } else {
      batches.push([text]);
      tokens = own;
    }
  }
  return batches;
}

/** Servers reject an empty text. */
const truncateText = (text: string, limit: number): string => text.slice(0, limit).toWellFormed() || " ";

/** Its message ends a sentence that begins with "the server answered, but". */
class VectorProblem extends Error {
  override readonly name = "VectorProblem";
}

/** Returns vectors in the order of the input. `dimensions` 0 accepts those of the first vector. Throws VectorProblem. */
function readVectors(answer: unknown, count: number, dimensions: number): readonly Float32Array[] {
  const { data }: Received<OpenAI.CreateEmbeddingResponse> = asRecord(answer);
  if (!Array.isArray(data)) throw new VectorProblem("the answer is not a list of vectors");
  if (data.length !== count) throw new VectorProblem(`${count} vectors were expected and ${data.length} came`);
  const vectors = sortByIndex(data).map((item) => normalizeVector(parseNumbers(item.embedding)));
  const expected = dimensions || (vectors[0]?.length ?? 0);
  const odd = vectors.find(({ length }) => length !== expected);
  if (odd) throw new VectorProblem(`vectors of ${expected} dimensions were expected and one of ${odd.length} came`);
  if (expected === 0 || vectors.every((vector) => vector.some(Number.isNaN)))
    throw new VectorProblem("every vector is empty, zero or contains something that is not a number");
  return vectors;
}

/** Sorts by `index`, which must occur once each. Without any `index`, the order of the input holds. */
function sortByIndex(data: readonly unknown[]): readonly Received<OpenAI.Embedding>[] {
  const items: readonly Received<OpenAI.Embedding>[] = data.map(asRecord);
  if (items.every(({ index }) => index === undefined)) return items;
  return items.map((_, position) => {
    const found = items.filter(({ index }) => index === position);
    if (found.length !== 1 || !found[0]) throw new VectorProblem(`vector ${position} came ${found.length} times`);
    return found[0];
  });
}

/** Accepts an array of numbers, or 32-bit little-endian floats in base64. */
function parseNumbers(embedding: unknown): Float32Array {
  if (Array.isArray(embedding) && embedding.every((value) => typeof value === "number"))
    return Float32Array.from(embedding);
  if (typeof embedding !== "string") throw new VectorProblem("one vector is neither numbers nor base64");
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length % 4 !== 0) throw new VectorProblem("one vector's base64 is cut off");
  return Float32Array.from({ length: bytes.length / 4 }, (_, position) => bytes.readFloatLE(position * 4));
}

/** A vector that is zero or infinite becomes one with NaN. */
function normalizeVector(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
