/**
 * openai-embedder.ts -- vectors from a server that speaks the OpenAI embeddings API.
 *
 * Texts go out in batches, and come back as unit vectors in their order, or not at all: a wrong
 * count, a wrong length, a NaN or a zero vector is refused, since one bad vector spoils every
 * later comparison. A text that is too long for the model is cut, shorter at each refusal, and what
 * worked is remembered. Errors say whether asking again can help: a server without embeddings
 * will not grow them, and the caller then falls back to an embedder on this machine.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Embedder } from "#core/ports.ts";
import { quoteWithout } from "#util/quote.ts";
import { type Asked, failed } from "./asked.ts";
import { explainFailure } from "./failure.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";
import { readVectors, VectorProblem } from "./vectors.ts";

export interface OpenAIEmbedderSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes"> {
  readonly model: string;
  /** Asked of the server, and then expected of it. Without it the first answer decides. */
  readonly dimensions?: number;
  /** For one batch. Default: 2 minutes. */
  readonly timeoutMs?: number;
}

/** Small enough for every known server. */
const BATCH_TEXTS = 96;
/** About 8,000 tokens of English, the limit of OpenAI's models; then what fits into 2,048 and 512. */
const TEXT_CHARS: readonly number[] = [24_000, 6_000, 1_500];
/** 96 vectors of 4,096 numbers in decimal are over 8 MB. */
const MAX_BYTES = 32 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * Until the first answer, without `dimensions` in the settings, `dimensions` is 0 and `id` ends in `@0`.
 * `embed` rejects with an EmbeddingError, or with the signal's reason. Throws GOALD_CONFIG for a base URL that is none.
 */
export function createOpenAIEmbedder(settings: OpenAIEmbedderSettings): Embedder {
  const client = lazyClient({ timeoutMs: DEFAULT_TIMEOUT_MS, ...settings, maxBytes: MAX_BYTES });
  const quote = quoteWithout(settings.apiKey);
  const asked: Asked = {
    server: shownUrl(settings.baseUrl),
    model: quote(settings.model),
    quote,
  };
  let dimensions = settings.dimensions ?? 0;
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
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (let start = 0; start < texts.length; start += BATCH_TEXTS)
        vectors.push(...(await embedBatch(texts.slice(start, start + BATCH_TEXTS), signal)));
      return vectors;
    },
  };

  async function embedBatch(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await request(
          texts.map((text) => cut(text, TEXT_CHARS[limitIndex] ?? 0)),
          signal,
        );
      } catch (error) {
        signal.throwIfAborted();
        const failure = error instanceof VectorProblem ? notVectors(error, asked) : explainFailure(error, asked);
        const tooLong = failure.code === "context-overflow" && limitIndex < TEXT_CHARS.length - 1;
        if (!tooLong) throw new EmbeddingError(failure.message, failure.retry === null);
        limitIndex += 1;
      }
    }
  }

  async function request(input: string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const openai = await client();
    const size = settings.dimensions === undefined ? {} : { dimensions: settings.dimensions };
    const body = { model: settings.model, input, encoding_format: "base64" as const, ...size };
    const answer: unknown = await openai.embeddings.create(body, { signal });
    const vectors = readVectors(answer, input.length, dimensions);
    dimensions = vectors[0]?.length ?? dimensions;
    return vectors;
  }
}

/** Server cannot be used for embeddings as things are: fall back. False for what may pass: try again later. */
export const isEmbeddingUnavailable = (error: unknown): boolean =>
  isGoaldError(error) && "isPermanent" in error && error.isPermanent === true;

class EmbeddingError extends GoaldError {
  readonly isPermanent: boolean;
  constructor(message: string, isPermanent: boolean) {
    super(
      "GOALD_HTTP_REFUSED",
      `${message} ${isPermanent ? "This will not pass by itself" : "This may pass"}: no embeddings for now.`,
      isPermanent
        ? {
            hint: "Name a server and model for embeddings (EMBEDDING_MODEL), or do without: recall then works offline.",
          }
        : {},
    );
    this.isPermanent = isPermanent;
  }
}

const notVectors = (problem: VectorProblem, { server, model }: Asked) =>
  failed(
    "broken-vectors",
    `The model server at ${server} answered for embeddings with ${model}, but ${problem.message}.`,
    null,
  );

/** Servers refuse an empty text. */
const cut = (text: string, limit: number): string => text.slice(0, limit).toWellFormed() || " ";
