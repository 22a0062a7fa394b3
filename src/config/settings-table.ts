/**
 * settings-table.ts -- every setting of goald: its name, its variables, what it may be, what it means.
 *
 * The one table. The check, the loader that reads variables, the `.env` of a new home and the README's table come from it;
 * the defaults lie in config/default.json, under the same names. Variables have AutoGPT's names where it
 * had one, GOALD_ otherwise; of several the first that is set wins.
 */

import { FAMILY_SETTINGS } from "./family-settings.ts";
import { MEMORY_SETTINGS } from "./memory-settings.ts";
import { SERVICE_SETTINGS } from "./service-settings.ts";
import { WEB_SETTINGS } from "./web-settings.ts";

/** What a value may be, as JSON Schema says it. */
export interface ValueSchema {
  readonly type: "string" | "integer" | "number" | "boolean";
  readonly nullable?: true;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface SettingRow {
  /** Path in `Settings` and in goald.json, with dots. */
  readonly name: string;
  readonly environment: readonly string[];
  readonly schema: ValueSchema;
  /** What the schema asks for, in words. */
  readonly expected: string;
  readonly meaning: string;
  /** Never shown, always redacted. */
  readonly secret?: true;
  /** The variable says "off" by being set to anything, as NO_COLOR does. */
  readonly offWhenSet?: true;
}

const modelName = {
  schema: { type: "string", minLength: 1, maxLength: 200, pattern: "^[^\\s\\p{Cc}]+$" },
  expected: "a model's name",
} as const;
const key = {
  schema: { type: "string", pattern: "^[^\\s-]{1,20}$" },
  expected: "a word of 1 to 20 characters without blanks",
} as const;

function wholeNumber(minimum: number, maximum: number) {
  const expected = `a whole number from ${inWords(minimum)} to ${inWords(maximum)}`;
  return { schema: { type: "integer", minimum, maximum }, expected } as const;
}
function choice(...values: readonly string[]) {
  return { schema: { type: "string", enum: values }, expected: `one of ${values.join(", ")}` } as const;
}
const yesOrNo = { schema: { type: "boolean" }, expected: "true or false" } as const;
/** 1,000,000; `toLocaleString` would load the tables of all languages at every start. */
const inWords = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");

const TABLE = [
  {
    name: "openai.apiKey",
    environment: ["OPENAI_API_KEY"],
    schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,1000}$" },
    expected: "a key of printable ASCII characters without blanks",
    meaning: "Key of the model server. A local server may need none.",
    secret: true,
  },
  {
    name: "openai.baseUrl",
    environment: ["OPENAI_BASE_URL", "OPENAI_API_BASE_URL"],
    // Credentials, queries and fragments have no place in it: keys would end up in logs.
    schema: { type: "string", maxLength: 2000, pattern: "^https?://[^\\s/?#@]+(?:/[^\\s?#@]*)?$" },
    expected: "an http or https address without credentials, query or fragment, such as http://127.0.0.1:11434/v1",
    meaning: "Any server that speaks OpenAI's chat completions, such as http://127.0.0.1:11434/v1 (Ollama).",
  },
  {
    name: "openai.organization",
    environment: ["OPENAI_ORGANIZATION"],
    schema: { type: "string", nullable: true, pattern: "^[\\x21-\\x7e]{1,200}$" },
    expected: "an organization id without blanks",
    meaning: "Organization that the model calls are charged to.",
  },
  {
    name: "models.smart",
    environment: ["SMART_LLM", "SMART_LLM_MODEL"],
    ...modelName,
    meaning: "Model of the main loop.",
  },
  { name: "models.fast", environment: ["FAST_LLM", "FAST_LLM_MODEL"], ...modelName, meaning: "Model for small tasks." },
  {
    name: "models.fallback",
    environment: ["FALLBACK_LLM"],
    schema: { ...modelName.schema, nullable: true },
    expected: "a model's name",
    meaning:
      "Model of the same server that is asked when the smart one is gone or fails for good; unset: the agent pauses.",
  },
  {
    name: "models.embedding",
    environment: ["EMBEDDING_MODEL"],
    ...modelName,
    meaning: "Model that turns memories into vectors.",
  },
  {
    name: "temperature",
    environment: ["TEMPERATURE"],
    schema: { type: "number", nullable: true, minimum: 0, maximum: 2 },
    expected: "a number from 0 to 2",
    meaning: "Randomness of the replies; unset: not sent.",
  },
  {
    name: "contextTokens",
    environment: ["GOALD_CONTEXT_TOKENS", "SMART_TOKEN_LIMIT"],
    schema: { type: "integer", nullable: true, minimum: 1_000, maximum: 10_000_000 },
    expected: "a whole number from 1,000 to 10,000,000",
    meaning: "Context window of the smart model, in tokens; unset: what the model is known to have.",
  },
  {
    name: "promptTokens",
    environment: ["GOALD_PROMPT_TOKENS"],
    ...wholeNumber(1_000, 10_000_000),
    meaning: "Longest prompt of a step, in tokens.",
  },
  {
    name: "replyTokens",
    environment: ["GOALD_REPLY_TOKENS"],
    ...wholeNumber(100, 1_000_000),
    meaning: "Room that is kept for a reply, in tokens.",
  },
  {
    name: "modelTimeoutMs",
    environment: ["GOALD_MODEL_TIMEOUT_MS"],
    ...wholeNumber(1_000, 3_600_000),
    meaning: "Longest wait for a reply, in milliseconds.",
  },
  ...MEMORY_SETTINGS,
  {
    name: "recall.count",
    environment: ["GOALD_RECALL_COUNT"],
    ...wholeNumber(0, 100),
    meaning: "Memories recalled for a step, at most.",
  },
  {
    name: "window.batch",
    environment: ["GOALD_WINDOW_BATCH"],
    ...wholeNumber(0, 40),
    meaning:
      "Of new agents: how many messages more than nine a prompt may carry before all of these are dropped at once, which a server's prompt cache rewards.",
  },
  {
    name: "approve",
    environment: ["GOALD_APPROVE"],
    ...choice("always", "risky", "never"),
    meaning: "Which commands a person is asked about.",
  },
  {
    name: "limits.unattendedSteps",
    environment: ["GOALD_UNATTENDED_STEPS"],
    ...wholeNumber(1, 1_000_000),
    meaning: "Steps after which an unattended run pauses, unless told otherwise.",
  },
  {
    name: "limits.unattendedTokens",
    environment: ["GOALD_UNATTENDED_TOKENS"],
    ...wholeNumber(1_000, 1_000_000_000_000),
    meaning: "Tokens in and out after which an unattended run pauses, unless told otherwise.",
  },
  {
    name: "limits.unattendedUsd",
    environment: ["GOALD_UNATTENDED_USD"],
    schema: { type: "number", nullable: true, minimum: 0, maximum: 1_000_000 },
    expected: "a number from 0 to 1,000,000, or none",
    meaning:
      "US dollars after which an unattended run pauses, unless told otherwise; only for models whose price is known.",
  },
  {
    name: "limits.maxBadReplies",
    environment: ["GOALD_MAX_BAD_REPLIES"],
    ...wholeNumber(1, 100),
    meaning: "Unreadable replies in a row that pause an agent.",
  },
  {
    name: "limits.maxModelFailures",
    environment: ["GOALD_MAX_MODEL_FAILURES"],
    ...wholeNumber(1, 100),
    meaning: "Failed model calls in a row that pause an agent.",
  },
  ...FAMILY_SETTINGS,
  {
    name: "daemon.concurrency",
    environment: ["GOALD_MODEL_CONCURRENCY"],
    ...wholeNumber(1, 1_000),
    meaning: "Model calls at the same time, per server.",
  },
  {
    name: "daemon.requestsPerMinute",
    environment: ["GOALD_REQUESTS_PER_MINUTE"],
    schema: { type: "integer", nullable: true, minimum: 1, maximum: 1_000_000 },
    expected: "a whole number from 1 to 1,000,000",
    meaning: "Model calls a minute, per server, over all agents; unset: as many as the server takes.",
  },
  {
    name: "daemon.graceSeconds",
    environment: ["GOALD_GRACE_SECONDS"],
    ...wholeNumber(0, 3_600),
    meaning: "How long a step may take to finish when the daemon goes down, in seconds.",
  },
  ...WEB_SETTINGS,
  ...SERVICE_SETTINGS,
  { name: "keys.yes", environment: ["AUTHORISE_COMMAND_KEY"], ...key, meaning: "Answer that lets a command run." },
  { name: "keys.no", environment: ["EXIT_KEY"], ...key, meaning: "Answer that stops the agent." },
  {
    name: "agentFile",
    environment: ["AI_SETTINGS_FILE"],
    schema: { type: "string", nullable: true, minLength: 1, maxLength: 4096 },
    expected: "a path",
    meaning: "Agent file to read when neither flags nor answers describe an agent.",
  },
  { name: "plainOutput", environment: ["PLAIN_OUTPUT"], ...yesOrNo, meaning: "Print without colour and redrawing." },
  {
    name: "color",
    environment: ["NO_COLOR"],
    ...yesOrNo,
    offWhenSet: true,
    meaning: "Print in colour on a terminal; NO_COLOR set to anything turns it off.",
  },
  {
    name: "logLevel",
    environment: ["GOALD_LOG_LEVEL"],
    ...choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    meaning: "What goes into .goald/log/goald.log.",
  },
] as const satisfies readonly SettingRow[];

export type SettingName = (typeof TABLE)[number]["name"];
export type NamedRow = SettingRow & { readonly name: SettingName };
export const SETTINGS: readonly NamedRow[] = TABLE;
