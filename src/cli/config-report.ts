/**
 * config-report.ts -- describes a setting for `goald config`: value, default and origin. A key is only shown as set or
 * not set.
 */
import {
  type FoundSetting,
  quoteValue,
  type ReadSettings,
  type SettingOrigin,
  shortenForDisplay,
} from "#config/load-settings.ts";
import { SETTINGS, type Setting, valueAt } from "#config/settings.ts";
import { clean } from "#util/outside-text.ts";
import { createRedactor, type Redact } from "#util/redact.ts";

export interface SettingReport {
  readonly name: string;
  readonly environment: readonly string[];
  /** null when unset; "set" or "not set" for a secret; the written text for an invalid value. */
  readonly value: string | number | boolean | null;
  readonly default: unknown;
  readonly origin: SettingOrigin;
  readonly secret?: true;
  /** Says in one sentence what is wrong; absent when the value is valid. */
  readonly problem?: string;
}

export function reportsOf(read: ReadSettings): readonly SettingReport[] {
  const redact = createRedactor(read.secrets);
  return SETTINGS.map((row) => reportOn(row, read, redact));
}

export function reportOn(
  row: Setting,
  read: ReadSettings,
  redact: Redact = createRedactor(read.secrets),
): SettingReport {
  const found = read.found.get(row.name) as FoundSetting;
  const wrong = read.problems.find(({ name }) => name === row.name);
  return {
    name: row.name,
    environment: row.environment,
    value: row.secret ? isSet(found.value) : shown(found, wrong !== undefined, redact),
    default: row.secret ? isSet(null) : valueAt(read.layers.defaults, row.name),
    origin: found.origin,
    ...(row.secret ? { secret: true } : {}),
    ...(wrong ? { problem: redact(wrong.sentence) } : {}),
  };
}

const isSet = (value: unknown): string => (value === null ? "not set" : "set");

function shown({ value, written }: FoundSetting, isWrong: boolean, redact: Redact): SettingReport["value"] {
  if (isWrong) return redact(typeof written === "string" ? shortenForDisplay(written) : quoteValue(written));
  return typeof value === "string" ? redact(clean(value)) : (value as number | boolean | null);
}

/** Returns `environment (SMART_LLM)`, a file with the variable in it, or `default`. */
export function originInWords({ layer, name, file }: SettingOrigin): string {
  switch (layer) {
    case "flag":
    case "default":
      return layer;
    case "environment":
      return `environment (${name})`;
    case ".env":
      return `${clean(file)} (${name})`;
    case "goald.json":
      return clean(file);
  }
}
