/**
 * openai-embedder.ts -- vectors from a server that speaks the OpenAI embeddings API.
 *
 * Texts go out in batches, and come back as unit vectors in their order, or not at all: a wrong
 * count, a wrong length, a NaN or a zero vector is refused, since one bad vector spoils every
 * later comparison. A text that is too long for the model is cut, shorter at each refusal, and what
 * worked is remembered. A server that asks for a short pause gets it. Errors say whether asking again can help: a server without embeddings
 * will not grow them, and the caller then falls back to an embedder on this machine.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Embedder } from "#core/ports/vectors.ts";
import { quoteWithout } from "#util/quote.ts";
import { type Asked, failed } from "./asked.ts";
import type { EmbeddingMeter } from "./embedding-meter.ts";
import { explainFailure } from "./failure.ts";
import { lazyClient, type ModelServer, shownUrl } from "./openai-client.ts";
import { readVectors, VectorProblem } from "./vectors.ts";

export interface OpenAIEmbedderSettings extends Omit<ModelServer, "timeoutMs" | "maxBytes"> {
  readonly model: string;
  /** Asked of the server, and then expected of it. Without it the first answer decides. */
  readonly dimensions?: number;
  /** False: they are expected, and not asked for. */
  readonly asksDimensions?: boolean;
  /** For one batch. Default: 2 minutes. */
  readonly timeoutMs?: number;
  /** Lets requests through and counts what they take; without it all may be asked. */
  readonly meter?: Pick<EmbeddingMeter, "take" | "settle">;
  /** Without it no pause is waited for. */
  readonly clock?: Pick<Clock, "sleep">;
}

/** Small enough for every known server. */
const BATCH_TEXTS = 96;
/** As estimated; OpenAI takes 300,000 in one request. */
const BATCH_TOKENS = 100_000;
/** A pause that a server asks for and that a recall can wait for; and how many of them. */
const MAX_PAUSE_MS = 3_000;
const MAX_PAUSES = 2;
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
      for (const batch of batchesOf(texts)) vectors.push(...(await embedBatch(batch, signal)));
      return vectors;
    },
  };

  async function embedBatch(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    for (let pauses = 0; ; ) {
      signal.throwIfAborted();
      try {
        return await request(
          texts.map((text) => cut(text, TEXT_CHARS[limitIndex] ?? 0)),
          signal,
        );
      } catch (error) {
        signal.throwIfAborted();
        if (isGoaldError(error, "GOALD_LIMIT")) throw error;
        const failure = error instanceof VectorProblem ? notVectors(error, asked) : explainFailure(error, asked);
        const tooLong = failure.code === "context-overflow" && limitIndex < TEXT_CHARS.length - 1;
        const pauseMs = failure.retry?.afterMs ?? null;
        if (tooLong) limitIndex += 1;
        else if (pauseMs === null || pauseMs > MAX_PAUSE_MS || pauses === MAX_PAUSES || !settings.clock)
          throw new EmbeddingError(failure.message, failure.retry === null, pauseMs);
        else {
          pauses += 1;
          await settings.clock.sleep(pauseMs, signal);
        }
      }
    }
  }

  async function request(input: string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const tokens = input.reduce((sum, text) => sum + tokensIn(text), 0);
    await settings.meter?.take(tokens);
    const openai = await client();
    const size =
      settings.dimensions === undefined || settings.asksDimensions === false ? {} : { dimensions: settings.dimensions };
    const body = { model: settings.model, input, encoding_format: "base64" as const, ...size };
    const answer: unknown = await openai.embeddings.create(body, { signal });
    settings.meter?.settle(tokens, tokensSaid(answer) ?? tokens);
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
  /** Not to be asked before, it says. */
  readonly afterMs: number | null;
  constructor(message: string, isPermanent: boolean, afterMs: number | null) {
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
    this.afterMs = afterMs;
  }
}

const notVectors = (problem: VectorProblem, { server, model }: Asked) =>
  failed(
    "broken-vectors",
    `The model server at ${server} answered for embeddings with ${model}, but ${problem.message}.`,
    null,
  );

/** Generous: for what the server does not say, and to stay below what it takes. */
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

function tokensSaid(answer: unknown): number | undefined {
  const { usage } = (answer ?? {}) as { readonly usage?: { readonly prompt_tokens?: unknown } };
  return typeof usage?.prompt_tokens === "number" ? usage.prompt_tokens : undefined;
}

/** In their order, none too large. */
function batchesOf(texts: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let tokens = 0;
  for (const text of texts) {
    const last = batches.at(-1);
    const own = tokensIn(text.slice(0, TEXT_CHARS[0]));
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

/** Servers refuse an empty text. */
const cut = (text: string, limit: number): string => text.slice(0, limit).toWellFormed() || " ";
