/** model-settings.ts -- the settings of the model server, its models, and long-term memory. */
import {
  anyNumber,
  choice,
  modelName,
  optional,
  type SettingRow,
  secretKey,
  webAddress,
  wholeNumber,
} from "./setting-row.ts";

export const MODEL_SETTINGS = [
  {
    name: "openai.apiKey",
    environment: ["OPENAI_API_KEY"],
    ...secretKey,
    meaning: "API key for the model server. Local servers may not need one.",
  },
  {
    name: "openai.baseUrl",
    environment: ["OPENAI_BASE_URL", "OPENAI_API_BASE_URL"],
    ...webAddress,
    expected: `${webAddress.expected}, such as http://127.0.0.1:11434/v1`,
    meaning:
      "Base URL of the model server. Any server with OpenAI's chat completions API works, such as http://127.0.0.1:11434/v1 (Ollama).",
  },
  {
    name: "models.smart",
    environment: ["SMART_LLM", "SMART_LLM_MODEL"],
    ...modelName,
    meaning: "Model for the main loop.",
  },
  {
    name: "models.fast",
    environment: ["FAST_LLM", "FAST_LLM_MODEL"],
    ...modelName,
    meaning: "Model for small tasks.",
  },
  {
    name: "models.fallback",
    environment: ["FALLBACK_LLM"],
    ...optional(modelName),
    meaning: "Model on the same server to use when the smart model is gone or fails permanently.",
    whenUnset: "none, the agent pauses",
  },
  {
    name: "models.embedding",
    environment: ["EMBEDDING_MODEL"],
    ...modelName,
    meaning: "Model that turns memories into vectors.",
  },
  {
    name: "models.temperature",
    environment: ["TEMPERATURE"],
    ...optional(anyNumber(0, 2)),
    meaning: "Randomness of replies.",
    whenUnset: "chosen by the server",
  },
  {
    name: "models.reasoningEffort",
    schema: { type: "string", nullable: true, enum: ["minimal", "low", "medium", "high", null] },
    expected: "minimal, low, medium, high, or none",
    meaning: "Effort of models that reason before they reply. Reasoning tokens count as tokens of the reply.",
    whenUnset: "chosen by the server",
  },
  {
    name: "models.contextTokens",
    environment: ["GOALD_MODELS_CONTEXT_TOKENS", "SMART_TOKEN_LIMIT"],
    ...optional(wholeNumber(1_000, 10_000_000)),
    meaning: "Context window of the smart model, in tokens.",
    whenUnset: "the model's known size",
  },
  {
    name: "models.promptTokens",
    ...wholeNumber(1_000, 10_000_000),
    meaning: "Maximum tokens per prompt.",
  },
  {
    name: "models.replyTokens",
    ...wholeNumber(100, 1_000_000),
    meaning:
      "Maximum tokens per reply, reasoning included. After a reply that was cut off, later ones may have four times as many.",
  },
  {
    name: "models.timeoutSeconds",
    ...wholeNumber(1, 3_600),
    meaning:
      "Maximum wait for the beginning of a streamed reply, or for the whole of another answer. A stream may last any time, but be silent for a minute at most.",
    unit: "seconds",
  },
  {
    name: "memory.embedder",
    ...choice("auto", "openai", "offline"),
    meaning:
      "Source of vectors: `openai` uses the model server, `offline` a table of word vectors that comes with goald, `auto` the model server if it has embeddings, else `offline`.",
  },
  {
    name: "memory.backend",
    environment: ["MEMORY_BACKEND"],
    ...choice("local", "exact", "hnsw", "pinecone"),
    meaning:
      "Index that finds the nearest memories: `exact` compares all vectors, `hnsw` searches a graph in a separate process, `local` uses `exact` up to 100,000 memories per namespace (250,000 offline) and `hnsw` above, `pinecone` queries your Pinecone index and keeps a full copy in the home.",
  },
  {
    name: "pinecone.apiKey",
    environment: ["PINECONE_API_KEY"],
    ...secretKey,
    meaning: "API key for Pinecone, for the memory backend `pinecone`.",
  },
  {
    name: "pinecone.index",
    environment: ["PINECONE_INDEX"],
    schema: { type: "string", nullable: true, pattern: "^[a-z0-9-]{1,45}$" },
    expected: "a name of small letters, digits and hyphens",
    meaning:
      "Name of the Pinecone index. Each home needs its own, with the embedder's dimensions and the metric cosine.",
  },
  {
    name: "pinecone.controller",
    environment: ["PINECONE_CONTROLLER_HOST"],
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s/?#@]+/?$" },
    expected: "an http or https address",
    meaning: "Base URL of Pinecone's API, which looks up the address of an index.",
  },
  {
    name: "recall.count",
    ...wholeNumber(0, 100),
    meaning: "Maximum memories recalled per step. 0 switches recall off.",
  },
] as const satisfies readonly SettingRow[];
