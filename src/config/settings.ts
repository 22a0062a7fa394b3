/**
 * settings.ts -- the one table of settings, and the type `Settings` that follows from it.
 *
 * Checks, the loader, the `.env` of a new home and the README's table are derived from these rows. The defaults are in
 * config/default.json, under the same names.
 */
import { readFileSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { nearestName } from "#util/nearest-name.ts";
import { AGENT_SETTINGS, TERMINAL_SETTINGS } from "./agent-settings.ts";
import { MODEL_SETTINGS } from "./model-settings.ts";
import { SERVICE_SETTINGS } from "./service-settings.ts";
import type { SettingRow, ValueOf } from "./setting-row.ts";

const TABLE = [...MODEL_SETTINGS, ...AGENT_SETTINGS, ...SERVICE_SETTINGS, ...TERMINAL_SETTINGS] as const;

export type SettingName = (typeof TABLE)[number]["name"];
export type Setting = SettingRow & { readonly name: SettingName };
export const SETTINGS: readonly Setting[] = TABLE;

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

// ---------------------------------------------------------------- names that people type

export interface NamedSetting {
  readonly row: Setting;
  /** The person typed one of its variables. */
  readonly byVariable: boolean;
}

/** Finds a setting by its name or by one of its variables. Throws GOALD_USAGE that suggests the nearest name. */
export function findSetting(typed: string): NamedSetting {
  const row = SETTINGS.find(({ name, environment }) => name === typed || environment.includes(typed));
  if (row) return { row, byVariable: row.name !== typed };
  throw new GoaldError("GOALD_USAGE", describeUnknownSetting(typed), { hint: "List all settings: goald config list" });
}

/** The sentence that refuses an unknown name and suggests the nearest. */
export function describeUnknownSetting(typed: string): string {
  const names: readonly string[] = SETTINGS.map(({ name }) => name);
  const lastPart = (name: string): string => (name.split(".").at(-1) ?? name).toLowerCase();
  const sameEnd = names.find((name) => lastPart(name) === lastPart(typed));
  const looksLikeVariable = /^[A-Z\d_]+$/.test(typed);
  const known = looksLikeVariable ? SETTINGS.flatMap(({ environment }) => environment) : names;
  const nearest = sameEnd ?? nearestName(typed, known);
  const quoted = JSON.stringify(clip(clean(typed), 80));
  return `${quoted} is not a setting of goald.${nearest ? ` Did you mean ${JSON.stringify(nearest)}?` : ""}`;
}
