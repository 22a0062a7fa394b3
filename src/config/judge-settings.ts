/**
 * judge-settings.ts -- the settings that were found, as one object, and everything that is wrong with them, each with its variable or
 * file, what was expected and what came.
 */
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { problemsIn } from "./check-settings.ts";
import type { Found } from "./find-settings.ts";
import type { Settings } from "./settings.ts";
import type { SettingName } from "./settings-table.ts";

export interface SettingProblem {
  /** Whose values do not go: one setting, or two that do not go together. */
  readonly names: readonly SettingName[];
  readonly sentence: string;
}

export interface Judged {
  /** Complete; `Settings` when there are no problems. */
  readonly settings: object;
  readonly problems: readonly SettingProblem[];
}

export function judge(found: ReadonlyMap<SettingName, Found>): Judged {
  const settings: Record<string, unknown> = {};
  for (const [name, { value }] of found) setAt(settings, name.split("."), value);
  const wrong = new Set(problemsIn(settings).map((problem) => problem.name));
  for (const [name, { value }] of found)
    if (/\.baseUrl$|^web\.allow$/.test(name) && typeof value === "string" && !value.split(/[,\s]+/).every(isAddress))
      wrong.add(name);
  const problems: SettingProblem[] = [...found]
    .filter(([name]) => wrong.has(name))
    .map(([name, one]) => ({ names: [name], sentence: sentence(one) }));
  const { yes, no } = settings.keys as Settings["keys"];
  if (!wrong.has("keys.yes") && !wrong.has("keys.no") && yes.toLowerCase() === no.toLowerCase())
    problems.push({
      names: ["keys.yes", "keys.no"],
      sentence: `keys.yes and keys.no must differ, got ${JSON.stringify(yes)} for both.`,
    });
  return { settings: deepFreeze(settings), problems };
}

const isAddress = (text: string): boolean => URL.canParse(text);

function sentence({ row, written, origin }: Found): string {
  const source = origin.layer === "flag" ? "command line" : origin.file || origin.layer;
  const got = row.secret ? "a value that is not shown" : inWords(written);
  return `${origin.name} (${source}) must be ${row.expected}, got ${got}.`;
}

/** A value as it was written, fit to be shown: cut, clean, and without what an address may hide. */
export const inWords = (written: unknown): string => fitToShow(JSON.stringify(written) ?? "nothing");
export const fitToShow = (text: string): string => clean(clip(withoutCredentials(text), 120));

/** Addresses may carry a password before the @ or a key behind the question mark. */
const withoutCredentials = (text: string): string => text.replace(/\/\/[^/@"]*@/g, "//…@").replace(/\?[^"]*/g, "?…");

function setAt(object: Record<string, unknown>, [part, ...rest]: readonly string[], value: unknown): void {
  if (part === undefined) return;
  if (rest.length === 0) object[part] = value;
  else {
    object[part] ??= {};
    setAt(object[part] as Record<string, unknown>, rest, value);
  }
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}
