/**
 * settings.ts -- what goald is set to, complete and checked, and how it is described to people.
 */
import { readFileSync } from "node:fs";
import type { ApprovalMode } from "#core/agent-settings.ts";
import { SETTINGS } from "./settings-table.ts";

/** OpenAI's own server: the one that answers nobody without a key. */
export const DEFAULT_BASE_URL = "https://api.openai.com/v1";

/** Frozen, complete and checked. */
export interface Settings {
  readonly models: {
    readonly smart: string;
    readonly fast: string;
    /** null: none. */
    readonly fallback: string | null;
    readonly embedding: string;
    /** null: as many as the model gives by itself. */
    readonly embeddingDimensions: number | null;
  };
  readonly openai: { readonly apiKey: string | null; readonly baseUrl: string; readonly organization: string | null };
  /** null: not sent, the server's own default. */
  readonly temperature: number | null;
  /** null: what the model is known to hold. */
  readonly contextTokens: number | null;
  readonly promptTokens: number;
  readonly replyTokens: number;
  readonly modelTimeoutMs: number;
  readonly embedder: "auto" | "openai" | "offline" | "transformers";
  /** Folder of the model of the embedder `transformers`. */
  readonly embedderPath: string | null;
  /** Over all agents of a home; null: no such limit. */
  readonly embeddings: { readonly tokensPerMinute: number | null; readonly tokensPerDay: number | null };
  readonly memoryBackend: "local" | "exact" | "hnsw" | "pinecone";
  /** Asked with the backend `pinecone`. */
  readonly pinecone: {
    readonly apiKey: string | null;
    readonly environment: string | null;
    readonly index: string | null;
    readonly host: string | null;
    readonly controller: string;
  };
  readonly recall: { readonly count: number };
  readonly window: { readonly batch: number };
  readonly approve: ApprovalMode;
  readonly limits: {
    readonly unattendedSteps: number;
    readonly unattendedTokens: number;
    /** null: none. Only for a model whose price is known: a default must not stop an agent that nobody gave a budget. */
    readonly unattendedUsd: number | null;
    readonly maxBadReplies: number;
    readonly maxModelFailures: number;
  };
  readonly agents: {
    readonly maxDepth: number;
    readonly maxChildren: number;
    readonly sharePercent: number;
    readonly answerSeconds: number;
    readonly parentMemory: boolean;
  };
  readonly daemon: {
    readonly concurrency: number;
    /** null: no limit of ours. */
    readonly requestsPerMinute: number | null;
    readonly graceSeconds: number;
  };
  readonly web: {
    /** Origins, with commas or blanks between them. */
    readonly allow: string | null;
    /** null: goald's own name. */
    readonly userAgent: string | null;
    readonly robots: boolean;
    readonly downloadMegabytes: number;
  };
  readonly search: {
    /** Names in their order, with commas or blanks between them; null: nobody. */
    readonly providers: string | null;
    readonly tavily: { readonly apiKey: string | null; readonly baseUrl: string };
    readonly serper: { readonly apiKey: string | null; readonly baseUrl: string };
    readonly brave: { readonly apiKey: string | null; readonly baseUrl: string };
    readonly searxng: { readonly baseUrl: string | null };
    readonly duckduckgo: { readonly baseUrl: string };
  };
  readonly images: ServiceServer;
  readonly speech: ServiceServer;
  readonly git: {
    /** Origins, with commas or blanks between them. */
    readonly allow: string | null;
    readonly username: string | null;
    readonly apiKey: string | null;
    readonly keyOrigin: string;
  };
  readonly twitter: {
    readonly consumerKey: string | null;
    readonly consumerSecret: string | null;
    readonly accessToken: string | null;
    readonly accessTokenSecret: string | null;
    readonly baseUrl: string;
  };
  readonly keys: { readonly yes: string; readonly no: string };
  readonly agentFile: string | null;
  readonly plainOutput: boolean;
  readonly color: boolean;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
}

/** A model of a server that need not be the one of the main loop. */
export interface ServiceServer {
  readonly model: string;
  /** null: the model server, when that is OpenAI's own. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
}

export interface SettingDescription {
  readonly name: string;
  readonly environment: readonly string[];
  /** As a person writes it. */
  readonly default: string;
  readonly meaning: string;
}

/** The rows of the README's table, in the order of the settings table. */
export function describeSettings(defaults: unknown = readDefaults()): readonly SettingDescription[] {
  return SETTINGS.map(({ name, environment, meaning }) => {
    const value = valueAt(defaults, name);
    return { name, environment, meaning, default: value === null ? "unset" : String(value) };
  });
}

/** config/default.json as it was shipped, not checked yet. */
export function readDefaults(): unknown {
  return JSON.parse(readFileSync(new URL("../../config/default.json", import.meta.url), "utf8"));
}

/** The value at a dotted path, or undefined. */
export function valueAt(value: unknown, name: string): unknown {
  const own = (inner: unknown, part: string): unknown =>
    typeof inner === "object" && inner !== null && Object.hasOwn(inner, part)
      ? (inner as Record<string, unknown>)[part]
      : undefined;
  return name.split(".").reduce(own, value);
}
