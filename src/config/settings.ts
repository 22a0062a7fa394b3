/**
 * settings.ts -- the one table of settings, and the type `Settings` that follows from it. Checks, the loader, the
 * `.env` of a new home and the README's table are derived from these rows. The defaults are in config/default.json,
 * under the same names.
 */
import { readFileSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { asRecord } from "#util/json.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import type { SettingRow, ValueOf } from "./setting-row.ts";
import { SETTING_TABLE } from "./setting-tables.ts";

export type SettingName = (typeof SETTING_TABLE)[number]["name"];
export type Setting = SettingRow & { readonly name: SettingName; readonly environment: readonly string[] };
export const SETTINGS: readonly Setting[] = SETTING_TABLE.map((row) => ({
  environment: [variableOf(row.name)],
  ...row,
}));

/** `GOALD_LOG_LEVEL` for `log.level`. */
function variableOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (capital) => `_${capital}`).replaceAll(".", "_");
  return `GOALD_${words.toUpperCase()}`;
}

/** Complete, checked and frozen values: `settings.models.smart` for the row "models.smart". */
export type Settings = Nested<{ [Row in (typeof SETTING_TABLE)[number] as Row["name"]]: ValueOf<Row["schema"]> }>;

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
export const valueAt = (value: unknown, name: string): unknown =>
  name.split(".").reduce((inner, part) => asRecord(inner)[part], value);

/** Returns a sentence for each setting that differs. It has the name only, because values may be secrets. */
export const changesBetween = (before: Settings, after: Settings): readonly string[] =>
  SETTINGS.flatMap(({ name }) => (valueAt(before, name) === valueAt(after, name) ? [] : [`${name} changed.`]));

/** Finds a setting by its name or by one of its variables. Throws GOALD_USAGE that suggests the nearest name. */
export function findSetting(typed: string): Setting {
  const row = SETTINGS.find(({ name, environment }) => name === typed || environment.includes(typed));
  if (row) return row;
  throw new GoaldError("GOALD_USAGE", describeUnknownSetting(typed), { hint: "List all settings: goald config --all" });
}

export const SETTING_NAMES: readonly string[] = SETTINGS.map(({ name }) => name);

/** The sentence that refuses an unknown name and suggests the nearest: of all names and their groups, else of their ends. */
export function describeUnknownSetting(typed: string): string {
  const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
  const whole = [...SETTING_NAMES, ...SETTING_NAMES.map((name) => name.slice(0, name.lastIndexOf(".")))];
  const known = /^[A-Z\d_]+$/.test(typed) ? SETTINGS.flatMap(({ environment }) => environment) : whole;
  const nearest = nearestName(typed, known) ?? nearestName(lastPart(typed), SETTING_NAMES.map(lastPart));
  const meant = SETTING_NAMES.find((name) => `.${name}.`.includes(`.${nearest}.`)) ?? nearest;
  const quoted = JSON.stringify(clip(clean(typed), 80));
  return `${quoted} is not a setting of goald.${meant ? ` Did you mean ${JSON.stringify(meant)}?` : ""}`;
}
