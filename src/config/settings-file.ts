/**
 * settings-file.ts -- a home's config/goald.json: a person's own settings, under the names of default.json.
 *
 * A name that goald does not know is refused, with the nearest that it does: a setting
 * that is silently not there is worse than none.
 */
import { dirname, join } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { withFileLock } from "./file-lock.ts";
import type { Home } from "./home.ts";
import { makeFolders } from "./make-folders.ts";
import { readTextFile } from "./read-text-file.ts";
import { replacePrivateFile } from "./replace-private-file.ts";
import { unknownSetting } from "./setting-name.ts";
import { SETTINGS } from "./settings-table.ts";

const MAX_BYTES = 64 * 1024;

export const settingsPath = ({ configFolder }: Pick<Home, "configFolder">): string => join(configFolder, "goald.json");

export interface SettingsFile {
  readonly path: string;
  /** An object with known names only; the values are not checked yet. */
  readonly value: unknown;
}

/** undefined when there is none. Throws GOALD_CONFIG. */
export async function readSettingsFile(path: string): Promise<SettingsFile | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  const value = parseJson(text, path);
  const problems = [...unknownNames(value, "")];
  if (problems.length > 0)
    throw new GoaldError("GOALD_CONFIG", problems.map(({ sentence }) => `${path}: ${sentence}`).join("\n"), {
      hint: removals(problems),
    });
  return { path, value };
}

async function readText(path: string): Promise<string | undefined> {
  const file = await readTextFile(path, MAX_BYTES).catch((thrown: unknown) => {
    throw new GoaldError("GOALD_CONFIG", `${path} cannot be read: ${toError(thrown).message}.`, { cause: thrown });
  });
  return file?.text;
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

// ---------------------------------------------------------------- names

interface NameProblem {
  readonly sentence: string;
  /** Dotted; undefined when it is not a name that is wrong. */
  readonly name?: string;
}

const NAMES: readonly string[] = SETTINGS.map((row) => row.name);

function* unknownNames(value: unknown, prefix: string): Generator<NameProblem> {
  if (!isObject(value)) {
    const members = NAMES.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    yield {
      sentence: `${prefix === "" ? "it" : prefix.slice(0, -1)} must be an object with names such as ${members.slice(0, 3).join(", ")}.`,
    };
    return;
  }
  for (const [part, inner] of Object.entries(value)) {
    const name = prefix + part;
    if (NAMES.includes(name)) continue;
    if (NAMES.some((known) => known.startsWith(`${name}.`))) yield* unknownNames(inner, `${name}.`);
    else yield { sentence: unknownSetting(name), name };
  }
}

/** Only names that a shell hands over as they are. */
const removals = (problems: readonly NameProblem[]): string =>
  problems
    .map(({ name = "" }) => name)
    .filter((name) => /^[\w.]{1,80}$/.test(name))
    .map((name) => `Take it out: goald config unset ${name}`)
    .join("\n");

type JsonObject = Record<string, unknown>;
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// ---------------------------------------------------------------- writing

/**
 * Sets one value, and leaves every other as it is. Throws GOALD_CONFIG for a file that holds something else than
 * settings, GOALD_HOME_UNWRITABLE when it cannot be written.
 */
export async function setInSettingsFile(path: string, name: string, value: unknown): Promise<void> {
  await change(path, (object) => {
    const parts = name.split(".");
    const last = parts.pop() as string;
    let inner = object;
    for (const part of parts) {
      if (!Object.hasOwn(inner, part)) inner[part] = {};
      const next = inner[part];
      if (!isObject(next)) throw notAnObject(path, part);
      inner = next;
    }
    inner[last] = value;
    return true;
  });
}

/** Takes one value out, a name that is no setting too, and what is empty then; false when it is not in there. Throws as `setInSettingsFile`. */
export async function removeFromSettingsFile(path: string, name: string): Promise<boolean> {
  if ((await readText(path)) === undefined) return false;
  return change(path, (object) => remove(object, name.split(".")));
}

function remove(object: JsonObject, [part = "", ...rest]: readonly string[]): boolean {
  if (!Object.hasOwn(object, part)) return false;
  const inner = object[part];
  if (rest.length > 0 && !(isObject(inner) && remove(inner, rest))) return false;
  if (rest.length === 0 || Object.keys(inner as JsonObject).length === 0) delete object[part];
  return true;
}

/** `edit` says whether it changed anything; a file in which nothing changed keeps its form. */
async function change(path: string, edit: (object: JsonObject) => boolean): Promise<boolean> {
  return writing(path, () =>
    withFileLock(path, async () => {
      const value = parseJson((await readText(path)) ?? "{}", path);
      if (!isObject(value)) throw notAnObject(path, "it");
      if (!edit(value)) return false;
      await replacePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
      return true;
    }),
  );
}

const notAnObject = (path: string, what: string): GoaldError =>
  new GoaldError("GOALD_CONFIG", `${path}: ${what} must be an object with names and values.`, {
    hint: `Correct it, or move the file away.`,
  });

async function writing<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    await makeFolders(dirname(path), 0o755);
    return await act();
  } catch (thrown) {
    if (isGoaldError(thrown)) throw thrown;
    throw new GoaldError("GOALD_HOME_UNWRITABLE", `${path} could not be written: ${toError(thrown).message}.`, {
      hint: "Make it writable, or set the variable in the environment instead.",
      cause: thrown,
    });
  }
}
