/**
 * settings.ts -- the one table of settings, and the type `Settings` that follows from it.
 *
 * Checks, the loader, the `.env` of a new home and the README's table are derived from these rows. The defaults are in
 * config/default.json, under the same names.
 */
import { readFileSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import type { SettingRow, ValueOf } from "./setting-row.ts";
import { AGENT_SETTINGS, MODEL_SETTINGS, SERVICE_SETTINGS } from "./setting-tables.ts";

const TABLE = [...MODEL_SETTINGS, ...AGENT_SETTINGS, ...SERVICE_SETTINGS] as const;

export type SettingName = (typeof TABLE)[number]["name"];
export type Setting = SettingRow & { readonly name: SettingName; readonly environment: readonly string[] };
export const SETTINGS: readonly Setting[] = TABLE.map((row) => ({ environment: [variableOf(row.name)], ...row }));

/** `GOALD_LOG_LEVEL` for `log.level`. */
function variableOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (capital) => `_${capital}`).replaceAll(".", "_");
  return `GOALD_${words.toUpperCase()}`;
}

/** Complete, checked and frozen values: `settings.models.smart` for the row "models.smart". */
export type Settings = Nested<{ [Row in (typeof TABLE)[number] as Row["name"]]: ValueOf<Row["schema"]> }>;

/** Turns { "a.b": X; "a.c": Y; d: Z } into { a: { b: X; c: Y }; d: Z }. */
type Nested<Values> = {
  readonly [Group in FirstPart<keyof Values & string>]: Group extends keyof Values
    ? Values[Group]
    : Nested<{ [Name in keyof Values as Name extends `${Group}.${infer Rest}` ? Rest : never]: Values[Name] }>;
};
type FirstPart<Name extends string> = Name extends `${infer First}.${string}` ? First : Name;

/** A model on a server that may differ from the main loop's. */
export type ServiceServer = Settings["images" | "speech"];

/** OpenAI's own server, which always requires a key. */
export const DEFAULT_BASE_URL = "https://api.openai.com/v1";

/** False when no key and no server is set. Servers other than OpenAI's may need no key. */
export const hasServer = ({ openai }: Pick<Settings, "openai">): boolean =>
  openai.apiKey !== null || openai.baseUrl !== DEFAULT_BASE_URL;

/** Reads config/default.json as shipped, unchecked. */
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

/** Returns a sentence for each setting that differs. It has the name only, because values may be secrets. */
export const changesBetween = (before: Settings, after: Settings): readonly string[] =>
  SETTINGS.flatMap(({ name }) => (valueAt(before, name) === valueAt(after, name) ? [] : [`${name} changed.`]));

// ---------------------------------------------------------------- names that people type

/** Finds a setting by its name or by one of its variables. Throws GOALD_USAGE that suggests the nearest name. */
export function findSetting(typed: string): Setting {
  const row = SETTINGS.find(({ name, environment }) => name === typed || environment.includes(typed));
  if (row) return row;
  throw new GoaldError("GOALD_USAGE", describeUnknownSetting(typed), { hint: "List all settings: goald config --all" });
}

/** The sentence that refuses a former name and says what to use instead; undefined for other names. */
export function describeFormerSetting(typed: string): string | undefined {
  if (SETTINGS.some(({ name }) => name.startsWith(`${typed}.`))) return undefined;
  const instead = insteadOf(typed);
  const successor = SETTINGS.find(({ name }) => name === instead);
  if (successor) return `${typed} is called ${looksLikeVariable(typed) ? successor.environment[0] : instead} now.`;
  return instead && `${typed} is not a setting any more. ${instead}`;
}

const looksLikeVariable = (typed: string): boolean => /^[A-Z\d_]+$/.test(typed);

/** The sentence that refuses an unknown name and suggests the nearest. */
export function describeUnknownSetting(typed: string): string {
  const former = describeFormerSetting(typed);
  if (former) return former;
  const names: readonly string[] = SETTINGS.map(({ name }) => name);
  const lastPart = (name: string): string => (name.split(".").at(-1) ?? name).toLowerCase();
  const nearestEnd = nearestName(lastPart(typed), names.map(lastPart));
  const known = looksLikeVariable(typed) ? SETTINGS.flatMap(({ environment }) => environment) : names;
  const nearest = nearestName(typed, known) ?? names.find((name) => lastPart(name) === nearestEnd);
  const quoted = JSON.stringify(clip(clean(typed), 80));
  return `${quoted} is not a setting of goald.${nearest ? ` Did you mean ${JSON.stringify(nearest)}?` : ""}`;
}

// Names and variables of settings that are gone, and what does their work now.

const FIXED = "goald has a fixed value for it.";

/** Each with the setting that does its work now, or with a sentence that says what to do instead. */
export const FORMER: readonly (readonly [names: string, instead: string])[] = [
  ["temperature", "models.temperature"],
  ["reasoningEffort GOALD_REASONING_EFFORT", "models.reasoningEffort"],
  ["contextTokens GOALD_CONTEXT_TOKENS", "models.contextTokens"],
  ["promptTokens GOALD_PROMPT_TOKENS", "models.promptTokens"],
  ["replyTokens GOALD_REPLY_TOKENS", "models.replyTokens"],
  ["modelTimeoutMs GOALD_MODEL_TIMEOUT_MS", "models.timeoutSeconds"],
  ["embedder GOALD_EMBEDDER", "memory.embedder"],
  ["memoryBackend", "memory.backend"],
  ["form GOALD_FORM", "agents.form"],
  ["commands GOALD_COMMANDS", "agents.commands"],
  ["approve GOALD_APPROVE", "agents.approve"],
  ["GOALD_AGENT_DEPTH", "agents.maxDepth"],
  ["GOALD_AGENT_CHILDREN", "agents.maxChildren"],
  ["GOALD_UNATTENDED_STEPS", "limits.unattendedSteps"],
  ["GOALD_UNATTENDED_TOKENS", "limits.unattendedTokens"],
  ["GOALD_UNATTENDED_USD", "limits.unattendedUsd"],
  ["GOALD_APPROVAL_MINUTES", "limits.approvalMinutes"],
  ["quota.folderMegabytes GOALD_QUOTA_FOLDER_MEGABYTES", "quota.megabytes"],
  ["quota.pagesMegabytes GOALD_QUOTA_PAGES_MEGABYTES", "quota.megabytes"],
  ["quota.downloadsMegabytes GOALD_QUOTA_DOWNLOADS_MEGABYTES", "quota.megabytes"],
  ["quota.storeMegabytes GOALD_QUOTA_STORE_MEGABYTES", "quota.megabytes"],
  ["GOALD_MODEL_CONCURRENCY", "daemon.concurrency"],
  ["GOALD_REQUESTS_PER_MINUTE", "daemon.requestsPerMinute"],
  ["logLevel", "log.level"],
  ["GOALD_ASK_BEFORE_SENDING", "web.askBeforeSending"],
  ["GOALD_OPEN_HOSTS", "web.openHosts"],
  ["git.allow GOALD_GIT_ALLOW", "web.allow"],
  ["GOALD_SANDBOX", "sandbox.isolation"],
  ["GOALD_CELL_IMPORTS", "sandbox.imports"],
  ["location GOALD_LOCATION", "sandbox.location"],
  ["GOALD_DUCKDUCKGO_BASE_URL", "search.duckduckgo.baseUrl"],
  ["GOALD_IMAGE_MODEL", "images.model"],
  ["GOALD_IMAGE_BASE_URL", "images.baseUrl"],
  ["GOALD_IMAGE_API_KEY", "images.apiKey"],
  ["plan GOALD_PLAN", "Use `--plan required` for a run, or the form `plan`."],
  ["agentFile AI_SETTINGS_FILE", "Name the file: goald run --from FILE"],
  ["keys.yes keys.no AUTHORISE_COMMAND_KEY EXIT_KEY", "The answers are y and n."],
  ["plainOutput PLAIN_OUTPUT color", "Set NO_COLOR=1, or use --no-color."],
  ["openai.organization OPENAI_ORGANIZATION", "The organization is that of the key's project."],
  ["models.embeddingDimensions EMBEDDING_DIMENSIONS", "The embedding model decides them: models.embedding."],
  ["pinecone.host PINECONE_HOST PINECONE_INDEX_HOST", "The index is looked up by its name: pinecone.index."],
  ["pinecone.environment PINECONE_ENV PINECONE_ENVIRONMENT", "The index may be in any region."],
  ["git.keyOrigin GOALD_GIT_KEY_ORIGIN", "Write the origin before the key: GITHUB_API_KEY=https://gitlab.com=KEY"],
  ["git.username GITHUB_USERNAME", "Servers accept a key without it."],
  ["modelIdleTimeoutMs GOALD_MODEL_IDLE_TIMEOUT_MS limits.maxBadReplies GOALD_MAX_BAD_REPLIES", FIXED],
  ["limits.maxModelFailures GOALD_MAX_MODEL_FAILURES quota.folderFiles GOALD_QUOTA_FOLDER_FILES", FIXED],
  ["agents.sharePercent GOALD_AGENT_SHARE agents.answerSeconds GOALD_AGENT_ANSWER_SECONDS", FIXED],
  ["agents.parentMemory GOALD_AGENT_PARENT_MEMORY daemon.graceSeconds GOALD_GRACE_SECONDS", FIXED],
  ["memory.keepMegabytes GOALD_MEMORY_KEEP_MEGABYTES recall.floor GOALD_RECALL_FLOOR react.severalCalls", FIXED],
  ["GOALD_REACT_SEVERAL_CALLS web.userAgent USER_AGENT web.downloadMegabytes GOALD_DOWNLOAD_MEGABYTES", FIXED],
  ["sandbox.maxProcesses GOALD_SANDBOX_PROCESSES sandbox.memoryMegabytes GOALD_SANDBOX_MEMORY_MEGABYTES", FIXED],
  ["sandbox.cellSeconds GOALD_CELL_SECONDS", FIXED],
];

/** Returns the second part of the row with this name, this variable, or a name in this group. */
const insteadOf = (typed: string): string | undefined =>
  FORMER.find(([names]) => names.split(" ").some((name) => name === typed || name.startsWith(`${typed}.`)))?.[1];
