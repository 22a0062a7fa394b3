/** config-report.ts -- what `goald config` shows of a setting: value, default and origin; of a key only whether it is set. */

import { quoteValue, shortenForDisplay } from "#config/check-settings.ts";
import type { FoundSetting, SettingOrigin } from "#config/find-settings.ts";
import type { ReadSettings } from "#config/load.ts";
import { SETTINGS, type Setting, valueAt } from "#config/settings.ts";
import { clean } from "#util/clean.ts";
import { createRedactor, type Redact } from "#util/redact.ts";

export interface SettingReport {
  readonly name: string;
  readonly environment: readonly string[];
  /** null: unset. "set" or "not set" for a secret. The text as written when it is wrong. */
  readonly value: string | number | boolean | null;
  readonly default: unknown;
  readonly origin: SettingOrigin;
  readonly secret?: true;
  /** One sentence, or null. */
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
  const wrong = read.problems.find(({ names }) => names.includes(row.name));
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

/** `environment (SMART_LLM)`, a file and the variable in it, `default`. */
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
