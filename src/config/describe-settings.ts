/** describe-settings.ts -- generates the settings texts that people read: docs/settings.md and the `.env` of a new home. */
import type { SettingRow } from "./setting-row.ts";
import { readDefaults, SETTINGS, type SettingName, valueAt } from "./settings.ts";

export interface SettingDescription {
  readonly name: SettingName;
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

/** The settings that most people set themselves. `goald config --all` lists the others. */
const COMMON: readonly SettingName[] = [
  "openai.apiKey",
  "openai.baseUrl",
  "models.smart",
  "models.fast",
  "agents.approve",
  "agents.form",
  "agents.commands",
  "limits.unattendedUsd",
  "search.tavily.apiKey",
  "log.level",
];

/** The `.env` of a new home, and `.env.example`: the common variables, each below its meaning and default. */
export function renderEnvTemplate(): string {
  const shown = describeSettings().filter(({ name }) => COMMON.includes(name));
  return `${HEAD}${shown.map(renderVariable).join("")}`;
}

/** A placeholder reads as unset. */
function renderVariable({
  name,
  environment: [variable = ""],
  meaning,
  default: byDefault,
}: SettingDescription): string {
  const [sentence] = meaning.split(/\.(?: |$)/);
  const isSecret = name.endsWith("Key");
  const value = isSecret ? `your-${variable.toLowerCase().replaceAll("_", "-")}` : valueAt(readDefaults(), name);
  const text = isSecret ? sentence : `${sentence} (default ${byDefault})`;
  return `# ${text}.\n${isSecret ? "" : "# "}${variable}=${value ?? ""}\n`;
}

const HEAD = `# Settings of goald, one NAME=value per line. Keep this file private (chmod 600). Environment variables
# override this file, and this file overrides config/goald.json. All settings: goald config --all
# A line "# NAME=value" shows a default; remove the "# " to change it.

`;

/** Printed above the first setting of each part. */
const HEADINGS: Readonly<Partial<Record<SettingName, string>>> = {
  "openai.apiKey": "model server",
  "memory.embedder": "memory",
  "window.batch": "agents",

  "daemon.concurrency": "daemon and log",
  "web.allow": "web and code",
  "search.providers": "search",
  "images.model": "services for single commands",
};
