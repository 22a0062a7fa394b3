/**
 * find-settings.ts -- finds each setting in its sources: flags, the environment, the home's `.env`, its
 * config/goald.json, and the shipped defaults.
 *
 * Values are read, not checked. Placeholders of a template count as unset. process.env is never changed.
 */
import { type EnvFile, type Environment, readEnvFile } from "./env-file.ts";
import type { Home } from "./home.ts";
import type { SettingRow } from "./setting-row.ts";
import { readDefaults, type Setting, type SettingName, valueAt } from "./settings.ts";
import { readSettingsFile, type SettingsFile, settingsPath } from "./settings-file.ts";

export type SettingFlags = Readonly<Partial<Record<SettingName, string | number | boolean | null | undefined>>>;

export interface SettingSources {
  readonly flags?: SettingFlags;
  readonly env: Environment;
  /** A trusted home; absent when there is none yet. */
  readonly home?: Pick<Home, "envFile" | "configFolder"> | undefined;
}

export interface SettingOrigin {
  readonly layer: "flag" | "environment" | ".env" | "goald.json" | "default";
  /** The variable where there is one, else the setting. */
  readonly name: string;
  /** Path of the file; empty for flags and the environment. */
  readonly file: string;
}

/** The value of a setting in one source. */
export interface FoundSetting {
  readonly row: Setting;
  readonly value: unknown;
  /** As a person wrote it, for errors. */
  readonly written: unknown;
  readonly origin: SettingOrigin;
}

/** The contents of all sources. */
export interface SettingLayers {
  readonly flags: SettingFlags;
  readonly env: Environment;
  readonly envFile: EnvFile & { readonly path: string };
  readonly file: SettingsFile | undefined;
  readonly defaults: unknown;
}

/** Throws GOALD_CONFIG for a file that cannot be read. */
export async function readLayers({ flags = {}, env, home }: SettingSources): Promise<SettingLayers> {
  const [envFile, file] = await Promise.all([
    home ? readEnvFile(home.envFile) : { variables: {}, isOpen: false },
    home ? readSettingsFile(settingsPath(home)) : undefined,
  ]);
  return { flags, env, envFile: { ...envFile, path: home?.envFile ?? "" }, file, defaults: readDefaults() };
}

/** Yields the setting from every source that has it, the effective one first. */
export function* findInLayers(row: Setting, layers: SettingLayers): Generator<FoundSetting, undefined> {
  const flag = layers.flags[row.name];
  if (flag !== undefined) yield parseFound(row, flag, { layer: "flag", name: row.name, file: "" });
  for (const [layer, variables, file] of [
    ["environment", layers.env, ""],
    [".env", layers.envFile.variables, layers.envFile.path],
  ] as const) {
    const name = row.environment.find((candidate) => !isPlaceholder(ownVariable(variables, candidate)));
    if (name !== undefined) yield parseFound(row, ownVariable(variables, name), { layer, name, file });
  }
  const stored = valueAt(layers.file?.value, row.name);
  if (layers.file && stored !== undefined && !(typeof stored === "string" && isPlaceholder(stored)))
    yield asWritten(row, stored, { layer: "goald.json", name: row.name, file: layers.file.path });
  yield asWritten(row, valueAt(layers.defaults, row.name), {
    layer: "default",
    name: row.name,
    file: "config/default.json",
  });
}

function parseFound(row: Setting, written: unknown, origin: SettingOrigin): FoundSetting {
  const value = typeof written === "string" ? parseSettingText(written, row) : written;
  return { row, value, written, origin };
}

const asWritten = (row: Setting, value: unknown, origin: SettingOrigin): FoundSetting => ({
  row,
  value,
  written: value,
  origin,
});

const ownVariable = (variables: Environment, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

// ---------------------------------------------------------------- text of variables and flags

/** `your-openai-api-key`, `<key>`, `sk-...`, or nothing at all. */
export function isPlaceholder(text: string | undefined): boolean {
  const value = text?.trim() ?? "";
  return value === "" || /^(?:your[-_ ].*|<.*>|github_pat_123|sk-(?:\.{3}|…|x+))$/i.test(value);
}

/** Converts trimmed text to the row's type. Text of another type stays text, which the schema then refuses. */
export function parseSettingText(text: string, row: SettingRow): unknown {
  const value = text.trim();
  if (row.schema.nullable && /^(?:none|null|unset)$/i.test(value)) return null;
  switch (row.schema.type) {
    case "integer":
      return /^[+-]?\d{1,15}$/.test(value) ? Number(value) : value;
    case "number":
      return /^[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})$/.test(value) ? Number(value) : value;
    case "boolean":
      return BOOLEAN_WORDS[value.toLowerCase()] ?? value;
    case "string":
      return normalizeText(value, row);
  }
}

/** Matched in any case: AutoGPT's files have Python's True and False. */
const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  1: true,
  false: false,
  no: false,
  off: false,
  0: false,
};

function normalizeText(value: string, { name, schema }: SettingRow): string {
  if (name.endsWith(".baseUrl")) return value.replace(/\/{1,20}$/, "");
  return schema.enum?.find((choice) => choice?.toLowerCase() === value.toLowerCase()) ?? value;
}
