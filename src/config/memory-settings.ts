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
    schema: { type: "string", enum: ["local", "exact", "hnsw", "pinecone"] },
    expected: "one of local, exact, hnsw, pinecone",
    meaning:
      "How the nearest memories are found: `exact` looks at every one, `hnsw` asks a graph in a process of its own; `local` does the first up to 50,000 of a namespace, the second above; `pinecone` asks an index of yours there, and keeps all at home too.",
  },
  {
    name: "pinecone.apiKey",
    environment: ["PINECONE_API_KEY"],
    schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,1000}$" },
    expected: "a key of printable ASCII characters without blanks",
    meaning: "Key of Pinecone, for the memory backend `pinecone`.",
    secret: true,
  },
  {
    name: "pinecone.environment",
    environment: ["PINECONE_ENV", "PINECONE_ENVIRONMENT"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 100, pattern: "^[\\w-]+$" },
    expected: "the name of a region, such as us-east-1",
    meaning: "Region that the Pinecone index must lie in, looked at when it is asked for by name; unset: any.",
  },
  {
    name: "pinecone.index",
    environment: ["PINECONE_INDEX"],
    schema: { type: "string", nullable: true, pattern: "^[a-z0-9-]{1,45}$" },
    expected: "a name of small letters, digits and hyphens",
    meaning: "Name of the Pinecone index: one for each home, with the dimensions of the embedder, measured by cosine.",
  },
  {
    name: "pinecone.host",
    environment: ["PINECONE_HOST", "PINECONE_INDEX_HOST"],
    schema: { type: "string", nullable: true, maxLength: 2000, pattern: "^(?:https?://)?[^\\s/?#@]+/?$" },
    expected: "an address such as https://mem-a1b2c3.svc.aped-4627-b74a.pinecone.io",
    meaning: "Address of the Pinecone index; unset: Pinecone is asked for it by the index's name.",
  },
  {
    name: "pinecone.controller",
    environment: ["PINECONE_CONTROLLER_HOST"],
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s/?#@]+/?$" },
    expected: "an http or https address",
    meaning: "Who is asked for the address of an index.",
  },
] as const satisfies readonly SettingRow[];
