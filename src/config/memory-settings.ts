/** memory-settings.ts -- the settings of long-term memory: what makes its vectors, what that may take, where they lie. Rows of the one table. */
import type { SettingRow } from "./settings-table.ts";

export const MEMORY_SETTINGS = [
  {
    name: "models.embeddingDimensions",
    environment: ["EMBEDDING_DIMENSIONS"],
    schema: { type: "integer", nullable: true, minimum: 1, maximum: 20_000 },
    expected: "a whole number from 1 to 20,000",
    meaning: "Numbers in a vector, for models that let one choose; unset: what the model gives.",
  },
  {
    name: "embedder",
    environment: ["GOALD_EMBEDDER"],
    schema: { type: "string", enum: ["auto", "openai", "offline", "transformers"] },
    expected: "one of auto, openai, offline, transformers",
    meaning:
      "Where vectors come from: the server, goald's own offline embedder, the server if it has embeddings, or a model of this machine by @huggingface/transformers.",
  },
  {
    name: "embedderPath",
    environment: ["GOALD_EMBEDDER_PATH"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 4096 },
    expected: "a path",
    meaning: "Folder of the model (config.json, tokenizer, onnx) for the embedder transformers; relative to the home.",
  },
  {
    name: "embeddings.tokensPerMinute",
    environment: ["GOALD_EMBEDDING_TOKENS_PER_MINUTE"],
    schema: { type: "integer", nullable: true, minimum: 1_000, maximum: 1_000_000_000_000 },
    expected: "a whole number from 1,000",
    meaning: "Tokens that embeddings may take a minute, over all agents; unset: no limit.",
  },
  {
    name: "embeddings.tokensPerDay",
    environment: ["GOALD_EMBEDDING_TOKENS_PER_DAY"],
    schema: { type: "integer", nullable: true, minimum: 1_000, maximum: 1_000_000_000_000 },
    expected: "a whole number from 1,000, or none",
    meaning: "Tokens that embeddings may take a day (UTC), over all agents; then recall goes by shared words.",
  },
  {
    name: "memoryBackend",
    environment: ["MEMORY_BACKEND"],
    schema: { type: "string", enum: ["local", "exact", "hnsw"] },
    expected: "one of local, exact, hnsw",
    meaning:
      "How the nearest memories are found: `exact` looks at every one, `hnsw` asks a graph in a process of its own; `local` does the first up to 50,000 of a namespace, the second above.",
  },
] as const satisfies readonly SettingRow[];
