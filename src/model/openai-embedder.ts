/**
 * openai-embedder.ts -- computes embeddings with a server that has the OpenAI embeddings API.
 *
 * Sends texts in batches and returns vectors in their order, or none: unit vectors, with NaN in one that has no
 * direction or whose text the server rejects. Rejects a wrong count, a wrong length, and an answer of such vectors
 * alone. Shortens texts that are too long for the model and remembers the length that worked, and the size of a batch.
 * Waits if the server asks for a short pause. Errors tell whether the caller should fall back to a local embedder.
 */
import type OpenAI from "openai";
import { GoaldError } from "#core/errors.ts";
import { mayHaveBeenCharged } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { CountTokens, Embedder } from "#core/ports/memory.ts";
import { asRecord, parseJson } from "#util/json.ts";
import { quoteWithout } from "#util/outside-errors.ts";
import { isCount } from "./chat-stream.ts";
import { type AskedServer, explainFailure, type ModelFailure } from "./failure.ts";
import { createSender, formatBaseUrl, type ModelServer, type Received, type SendRequest } from "./model-server.ts";

/** `timeoutMs`: of one batch. */
export interface OpenAIEmbedderSettings extends Omit<ModelServer, "maxBytes"> {
  readonly model: string;
  /** Needed to wait for pauses. */
  readonly clock?: Pick<Clock, "sleep">;
}

/** Some servers accept fewer: DashScope 10, text-embeddings-inference 32. */
const BATCH_TEXTS = 96;
/** Rejected texts of a call beyond which the fault is the server's; a single one before the first vectors. */
const MAX_REJECTED = 4;
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
export const createOpenAIEmbedder = (settings: OpenAIEmbedderSettings): Embedder => new OpenAIEmbedder(settings);

/** The progress of one call of `embed`. */
interface EmbedCall {
  readonly signal: AbortSignal;
  readonly countTokens: CountTokens | undefined;
  readonly rejections: ModelFailure[];
}

class OpenAIEmbedder implements Embedder {
  readonly local = false;
  readonly semantic = true;
  readonly #settings: OpenAIEmbedderSettings;
  readonly #send: SendRequest;
  readonly #asked: AskedServer;
  #dimensions = 0;
  #limitIndex = 0;
  #batchTexts = BATCH_TEXTS;

  constructor(settings: OpenAIEmbedderSettings) {
    const quote = quoteWithout(settings.apiKey);
    this.#settings = settings;
    this.#send = createSender({ ...settings, maxBytes: MAX_EMBEDDING_BYTES });
    this.#asked = { server: formatBaseUrl(settings.baseUrl), model: quote(settings.model), quote };
  }

  get id() {
    return `${this.#settings.model}@${this.#dimensions}`;
  }

  get dimensions() {
    return this.#dimensions;
  }

  async embed(texts: readonly string[], signal: AbortSignal, countTokens?: CountTokens) {
    const call: EmbedCall = { signal, countTokens, rejections: [] };
    const made: (Float32Array | null)[] = [];
    for (const batch of splitIntoBatches(texts, this.#batchTexts)) made.push(...(await this.#embedBatch(batch, call)));
    const [rejection] = call.rejections;
    if (rejection && made.every((vector) => vector === null)) throw createError(rejection);
    return made.map((vector) => vector ?? new Float32Array(this.#dimensions).fill(Number.NaN));
  }

  /** Returns null for a text that the server rejects. */
  async #embedBatch(texts: readonly string[], call: EmbedCall): Promise<readonly (Float32Array | null)[]> {
    const { clock } = this.#settings;
    for (let pauses = 0; ; ) {
      call.signal.throwIfAborted();
      const used = this.#limitIndex;
      try {
        const input = texts.map((text) => truncateText(text, TEXT_CHARS[used] ?? 0));
        const vectors = await this.#requestVectors(input, call);
        this.#dimensions = vectors[0]?.length ?? this.#dimensions;
        return vectors;
      } catch (error) {
        call.signal.throwIfAborted();
        const failure = explainFailure(error, this.#asked);
        const tooLong = failure.code === "context-overflow" && used < TEXT_CHARS.length - 1;
        const pauseMs = failure.retry?.afterMs ?? null;
        // Another batch may have shortened its texts meanwhile.
        if (tooLong) this.#limitIndex = Math.max(this.#limitIndex, used + 1);
        else if (pauseMs === null || pauseMs > MAX_EMBEDDING_PAUSE_MS || pauses === MAX_PAUSES || !clock)
          return this.#embedHalves(texts, failure, call);
        else {
          pauses += 1;
          await clock.sleep(pauseMs, call.signal);
        }
      }
    }
  }

  /** Halves a rejected batch to find the texts that the server rejects, or the number of texts that it accepts. */
  async #embedHalves(texts: readonly string[], failure: ModelFailure, call: EmbedCall) {
    const { code, message } = failure;
    const isRejected = code === "bad-request";
    // Ollama answers 500 when the vector of one text is NaN. Before its first vectors any other 500 is about the server.
    const hasAnswered = this.#dimensions > 0;
    const isOfText = isRejected || (code === "server-error" && (hasAnswered || /\bNaN\b/.test(message)));
    const known = call.rejections.length;
    if (!isOfText || known > (hasAnswered ? MAX_REJECTED : 1)) throw createError(failure);
    if (texts.length === 1) {
      call.rejections.push(failure);
      return [null];
    }
    const half = Math.ceil(texts.length / 2);
    const first = await this.#embedBatch(texts.slice(0, half), call);
    const made = [...first, ...(await this.#embedBatch(texts.slice(half), call))];
    if (isRejected && call.rejections.length === known) this.#batchTexts = Math.min(this.#batchTexts, half);
    return made;
  }

  /** Sends one batch, and counts what it took: the figure of the server, else an estimate. */
  async #requestVectors(input: string[], { signal, countTokens }: EmbedCall) {
    const tokens = input.reduce((sum, text) => sum + estimateEmbeddingTokens(text), 0);
    const body: OpenAI.EmbeddingCreateParams = { model: this.#settings.model, input, encoding_format: "base64" };
    let charged = tokens;
    try {
      const response = await this.#send("/embeddings", body, signal);
      const answer = parseJson(await response.text());
      charged = readUsedTokens(answer) ?? tokens;
      return readVectors(answer, input.length, this.#dimensions);
    } catch (error) {
      const { code } = explainFailure(error, this.#asked);
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

/** Overestimates tokens, to stay below the server's limits. */
const estimateEmbeddingTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

function readUsedTokens(answer: unknown): number | undefined {
  const { usage }: Received<OpenAI.CreateEmbeddingResponse> = asRecord(answer);
  const { prompt_tokens: tokens }: Received<OpenAI.CreateEmbeddingResponse.Usage> = asRecord(usage);
  return isCount(tokens) ? tokens : undefined;
}

/** Splits texts into batches below both limits, in order. */
function splitIntoBatches(texts: readonly string[], mostTexts: number): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let tokens = 0;
  for (const text of texts) {
    const last = batches.at(-1);
    const own = estimateEmbeddingTokens(text.slice(0, TEXT_CHARS[0]));
    if (last && last.length < mostTexts && tokens + own <= BATCH_TOKENS) {
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

/** Vectors that cannot be used. failure.ts knows it by its name. */
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
