/** describe-settings.ts -- generates the settings texts that people read: docs/settings.md and the `.env` of a new home. */
import type { SettingRow } from "./setting-row.ts";
import { readDefaults, SETTINGS, type Setting, type SettingName, valueAt } from "./settings.ts";

export interface SettingDescription {
  readonly name: string;
  readonly environment: readonly string[];
  readonly meaning: string;
  /** The value as a person writes it with its unit, or its effect when the setting is unset. */
  readonly default: string;
  /** The part of the settings that begins with this one. */
  readonly heading: string | undefined;
}

/** One description per setting, in the order of the table. */
export function describeSettings(): readonly SettingDescription[] {
  const defaults = readDefaults();
  return SETTINGS.map((row) => {
    const value = valueAt(defaults, row.name);
    const byDefault = value === null ? (row.whenUnset ?? "unset") : withUnit(value, row);
    const { name, environment, meaning } = row;
    return { name, environment, meaning, default: byDefault, heading: HEADINGS[name] };
  });
}

const withUnit = (value: unknown, { unit }: SettingRow): string => (unit ? `${value} ${unit}` : String(value));

/** The `.env` of a new home, and `.env.example`: every variable in a comment, with its meaning and default. */
export function renderEnvTemplate(): string {
  const defaults = readDefaults();
  return `${HEAD}${SETTINGS.map((row) => renderVariable(row, valueAt(defaults, row.name))).join("\n")}\n`;
}

function renderVariable(row: Setting, value: unknown): string {
  const heading = HEADINGS[row.name];
  const [variable = ""] = row.environment;
  // Every value of such a variable means the same, so none is shown.
  const shown = row.offWhenSet || value === null ? "" : String(value);
  return [
    ...(heading ? [`\n# ---- ${heading}`] : []),
    `# ${meaningWithDefault(row, value)}${row.schema.enum ? ` Must be ${row.expected}.` : ""}`,
    row.secret ? `${variable}=${placeholderOf(variable)}` : `# ${variable}=${shown}`,
  ].join("\n");
}

/** The default follows the first sentence of the meaning, in parentheses. */
function meaningWithDefault(row: SettingRow, value: unknown): string {
  const byDefault = value === null ? row.whenUnset && `default: ${row.whenUnset}` : `default ${withUnit(value, row)}`;
  if (!byDefault || row.offWhenSet) return row.meaning;
  return row.meaning.replace(/\.(?= |$)/, () => ` (${byDefault}).`);
}

/** Reads as unset, like every placeholder. */
const placeholderOf = (variable: string): string => `your-${variable.toLowerCase().replaceAll("_", "-")}`;

const HEAD = `# Settings of goald, one NAME=value per line. Keep this file private (chmod 600). Environment variables
# override this file, and this file overrides config/goald.json. Names are AutoGPT's where it has one.
# A line "# NAME=value" shows a default; remove the "# " to change it.
`;

/** Printed above the first setting of each part. */
const HEADINGS: Readonly<Partial<Record<SettingName, string>>> = {
  "openai.apiKey": "model server",
  embedder: "memory",
  approve: "approvals, limits and sub-agents",
  "daemon.concurrency": "daemon",
  "web.allow": "web",
  "search.providers": "search",
  "images.model": "services for single commands",
  "keys.yes": "terminal",
};
