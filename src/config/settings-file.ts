/**
 * settings-file.ts -- reads and changes a home's config/goald.json: a person's settings, named as in default.json.
 * Unknown names are refused with the nearest known one, because a misspelled setting would have no effect.
 */
import { dirname, join } from "node:path";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import { isRecord, type JsonRecord } from "#util/json.ts";
import { type Home, makeFolders } from "./home.ts";
import { readConfigFile, replacePrivateFile, withFileLock } from "./private-file.ts";
import { describeUnknownSetting, SETTING_NAMES } from "./settings.ts";

export const settingsPath = ({ configFolder }: Pick<Home, "configFolder">): string => join(configFolder, "goald.json");

/**
 * `value`: an object with known names only, whose values are not checked. Returns undefined when there is no file.
 * Throws GOALD_CONFIG.
 */
export async function readSettingsFile(path: string) {
  const file = await readConfigFile(path);
  if (file === undefined) return undefined;
  const value = parseSettings(file.text, path);
  const problems = [...findUnknownNames(value, "")];
  if (problems.length > 0)
    throw new GoaldError("GOALD_CONFIG", problems.map(({ sentence }) => `${path}: ${sentence}`).join("\n"), {
      hint: suggestRemovals(problems),
    });
  return { path, value };
}

/** Reports only the place: the engine's message quotes the text, which may contain a key. */
function parseSettings(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    const place = /line \d+ column \d+/.exec(toError(thrown).message)?.[0];
    throw new GoaldError("GOALD_CONFIG", `${path} is not valid JSON${place ? ` (${place})` : ""}.`, {
      hint: 'Put names and texts in double quotes, and no comma before "}".',
    });
  }
}

interface NameProblem {
  readonly sentence: string;
  /** The unknown name, dotted; undefined when something else is wrong. */
  readonly name?: string;
}

function* findUnknownNames(value: unknown, prefix: string): Generator<NameProblem> {
  if (!isRecord(value)) {
    const inside = SETTING_NAMES.filter((name) => name.startsWith(prefix));
    const such = [...new Set(inside.flatMap((name) => name.slice(prefix.length).split(".", 1)))].slice(0, 3).join(", ");
    yield { sentence: `${prefix === "" ? "it" : prefix.slice(0, -1)} must be an object with names such as ${such}.` };
    return;
  }
  for (const [part, inner] of Object.entries(value)) {
    const name = prefix + part;
    if (part.includes("."))
      yield { sentence: `"${name.slice(0, 80)}" has a dot. Write it as {"models": {"smart": …}}.` };
    else if (SETTING_NAMES.some((known) => known.startsWith(`${name}.`))) yield* findUnknownNames(inner, `${name}.`);
    else if (!SETTING_NAMES.includes(name)) yield { sentence: describeUnknownSetting(name), name };
  }
}

/** Suggests commands only for names that a shell passes on unchanged. */
const suggestRemovals = (problems: readonly NameProblem[]): string =>
  problems
    .filter(({ name = "" }) => /^[\w.]{1,80}$/.test(name))
    .map(({ name }) => `Remove it: goald config ${name} --unset`)
    .join("\n");

/**
 * Sets one value and keeps all others. Throws GOALD_CONFIG when the file holds something other than settings,
 * GOALD_HOME_UNWRITABLE when it cannot be written.
 */
export async function setInSettingsFile(path: string, name: string, value: unknown): Promise<void> {
  await changeSettings(path, (object) => {
    const parts = name.split(".");
    const last = parts.pop() as string;
    let inner = object;
    for (const part of parts) {
      if (!Object.hasOwn(inner, part)) inner[part] = {};
      const next = inner[part];
      if (!isRecord(next)) throw notAnObject(path, part);
      inner = next;
    }
    inner[last] = value;
    return true;
  });
}

/**
 * Removes a value, of a known or unknown name, and the groups that become empty. Returns false when the file does not
 * contain it. Throws as `setInSettingsFile`.
 */
export async function removeFromSettingsFile(path: string, name: string): Promise<boolean> {
  if ((await readConfigFile(path)) === undefined) return false;
  return changeSettings(path, (object) => removeAt(object, name.split(".")));
}

function removeAt(object: JsonRecord, [part = "", ...rest]: readonly string[]): boolean {
  if (!Object.hasOwn(object, part)) return false;
  const inner = object[part];
  if (rest.length > 0 && !(isRecord(inner) && removeAt(inner, rest))) return false;
  if (rest.length === 0 || Object.keys(inner as JsonRecord).length === 0) delete object[part];
  return true;
}

/** `edit` returns whether it changed anything; an unchanged file is not rewritten. */
async function changeSettings(path: string, edit: (object: JsonRecord) => boolean): Promise<boolean> {
  try {
    await makeFolders(dirname(path), 0o755);
    return await withFileLock(path, async () => {
      const value = parseSettings((await readConfigFile(path))?.text ?? "{}", path);
      if (!isRecord(value)) throw notAnObject(path, "it");
      if (!edit(value)) return false;
      await replacePrivateFile(path, `${JSON.stringify(value, null, 2)}\n`);
      return true;
    });
  } catch (cause) {
    if (isGoaldError(cause)) throw cause;
    throw new GoaldError("GOALD_HOME_UNWRITABLE", `${path} could not be written: ${toError(cause).message}.`, {
      hint: "Make it writable, with free space on its disk, or set the variable in the environment instead.",
      cause,
    });
  }
}

const notAnObject = (path: string, what: string): GoaldError =>
  new GoaldError("GOALD_CONFIG", `${path}: ${what} must be an object with names and values.`, {
    hint: "Correct it, or move the file away.",
  });
