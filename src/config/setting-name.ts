/** setting-name.ts -- which setting a person means: its name in the table, or any of its variables. */
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { nearestName } from "./nearest.ts";
import { type NamedRow, SETTINGS } from "./settings-table.ts";

export interface NamedSetting {
  readonly row: NamedRow;
  /** It was named by one of its variables. */
  readonly byVariable: boolean;
}

/** Throws GOALD_USAGE, with the nearest that there is. */
export function settingNamed(typed: string): NamedSetting {
  const row = SETTINGS.find(({ name, environment }) => name === typed || environment.includes(typed));
  if (row) return { row, byVariable: row.name !== typed };
  throw new GoaldError("GOALD_USAGE", unknownSetting(typed), { hint: "See what there is: goald config list" });
}

/** The sentence for a name that is none. */
export function unknownSetting(typed: string): string {
  const part = typed.split(".").at(-1) ?? typed;
  const sameEnd = NAMES.find((known) => known.split(".").at(-1)?.toLowerCase() === part.toLowerCase());
  // A variable is meant by what looks like one.
  const known = /^[A-Z\d_]+$/.test(typed) ? SETTINGS.flatMap(({ environment }) => environment) : NAMES;
  const nearest = sameEnd ?? nearestName(typed, known);
  const quoted = JSON.stringify(clip(clean(typed), 80));
  return `${quoted} is not a setting of goald.${nearest ? ` Did you mean ${JSON.stringify(nearest)}?` : ""}`;
}

const NAMES: readonly string[] = SETTINGS.map((row) => row.name);
