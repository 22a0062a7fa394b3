/**
 * settings-file.ts -- a home's config/goald.json: a person's own settings, under the names of default.json.
 *
 * A name that goald does not know is refused, with the nearest that it does: a setting
 * that is silently not there is worse than none.
 */
import { GoaldError, toError } from "#core/errors.ts";
import { nearestName } from "./nearest.ts";
import { readTextFile } from "./read-text-file.ts";
import { SETTINGS } from "./settings-table.ts";

const MAX_BYTES = 64 * 1024;

export interface SettingsFile {
  readonly path: string;
  /** An object with known names only; the values are not checked yet. */
  readonly value: unknown;
}

/** undefined when there is none. Throws GOALD_CONFIG. */
export async function readSettingsFile(path: string): Promise<SettingsFile | undefined> {
  const file = await readTextFile(path, MAX_BYTES).catch((thrown: unknown) => {
    throw new GoaldError("GOALD_CONFIG", `${path} cannot be read: ${toError(thrown).message}.`, { cause: thrown });
  });
  if (!file) return undefined;
  const value = parseJson(file.text, path);
  const problems = [...unknownNames(value, "")];
  if (problems.length > 0)
    throw new GoaldError("GOALD_CONFIG", problems.map((problem) => `${path}: ${problem}`).join("\n"));
  return { path, value };
}

/** The engine's own message quotes the text, and there may be a key in it: only the place is told. */
function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    const place = /line \d+ column \d+/.exec(toError(thrown).message)?.[0];
    throw new GoaldError("GOALD_CONFIG", `${path} is not valid JSON${place ? ` (${place})` : ""}.`, {
      hint: 'Names and texts stand in double quotes, and there is no comma before "}".',
    });
  }
}

const NAMES: readonly string[] = SETTINGS.map((row) => row.name);

function* unknownNames(value: unknown, prefix: string): Generator<string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const members = NAMES.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    yield `${prefix === "" ? "it" : prefix.slice(0, -1)} must be an object with names such as ${members.slice(0, 3).join(", ")}.`;
    return;
  }
  for (const [part, inner] of Object.entries(value)) {
    const name = prefix + part;
    if (NAMES.includes(name)) continue;
    if (NAMES.some((known) => known.startsWith(`${name}.`))) yield* unknownNames(inner, `${name}.`);
    else yield unknownName(name);
  }
}

function unknownName(name: string): string {
  const part = name.split(".").at(-1) ?? name;
  const sameEnd = NAMES.find((known) => known.split(".").at(-1)?.toLowerCase() === part.toLowerCase());
  const nearest = sameEnd ?? nearestName(name, NAMES);
  return `${JSON.stringify(name)} is not a setting of goald.${nearest ? ` Did you mean ${JSON.stringify(nearest)}?` : ""}`;
}
