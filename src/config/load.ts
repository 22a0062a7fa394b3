/**
 * load.ts -- settings from everywhere: flags, then the environment, then the home's `.env`, then its
 * config/goald.json, then the shipped defaults.
 *
 * Each setting is taken from the first source that has it, and remembers which that was. All that
 * is wrong is said at once, each with its variable or file, what was expected and what came.
 */
import { GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import type { Environment } from "./env-file.ts";
import { type Found, findAll, type Layers, type Origin, readLayers, type SettingSources } from "./find-settings.ts";
import { type Judged, judge } from "./judge-settings.ts";
import { nearestName } from "./nearest.ts";
import { secretsOf } from "./secrets.ts";
import { isPlaceholder } from "./setting-text.ts";
import { type Settings, valueAt } from "./settings.ts";
import { SETTINGS, type SettingName } from "./settings-table.ts";

export type { SettingFlags, SettingSources } from "./find-settings.ts";

/** What is not a setting of its own, from all sources together. */
interface Surroundings {
  /** What a person should know and need not act on, each a sentence. */
  readonly notes: readonly string[];
  /** The environment over the home's `.env`, placeholders left out: for keys that are no settings. */
  readonly environment: Environment;
  /** Everything that must never be shown, from every source. */
  readonly secrets: readonly string[];
}

export interface LoadedSettings extends Surroundings {
  readonly settings: Settings;
  originOf(name: SettingName): Origin;
}

/** Throws GOALD_CONFIG; the message has a line for each thing that is wrong. */
export async function loadSettings(sources: SettingSources): Promise<LoadedSettings> {
  const { settings, problems, found, layers: _layers, ...rest } = await readSettings(sources);
  if (problems.length > 0) throw wrongSettings(problems);
  return Object.freeze({
    ...rest,
    settings: settings as Settings,
    originOf: (name: SettingName) => (found.get(name) as Found).origin,
  });
}

export const wrongSettings = (problems: Judged["problems"]): GoaldError =>
  new GoaldError("GOALD_CONFIG", problems.map(({ sentence }) => sentence).join("\n"), {
    hint: "Correct it, or remove it to use the default.",
  });

/** All settings, right or wrong. */
export interface ReadSettings extends Judged, Surroundings {
  readonly found: ReadonlyMap<SettingName, Found>;
  readonly layers: Layers;
}

/** For whoever shows or mends settings: wrong values do not throw. Throws GOALD_CONFIG for a file that cannot be read. */
export async function readSettings(sources: SettingSources): Promise<ReadSettings> {
  const layers = await readLayers(sources);
  const { env, envFile, file } = layers;
  const found = new Map(SETTINGS.map((row) => [row.name, findAll(row, layers).next().value as Found]));
  const judged = judge(found);
  const settings = judged.settings as Settings;
  const readable = envFile.isOpen && secretsOf(settings, envFile.variables).length > 0;
  return {
    ...judged,
    found,
    layers,
    notes: [
      ...notesOnNames(env, envFile.variables),
      ...(readable ? [`Others can read the keys in ${envFile.path}: chmod 600 it.`] : []),
    ],
    environment: withoutPlaceholders({ ...envFile.variables, ...withoutPlaceholders(env) }),
    secrets: secretsOf(settings, env, envFile.variables, { FILE_KEY: textAt(file?.value, "openai.apiKey") }),
  };
}

function textAt(value: unknown, name: string): string | undefined {
  const text = valueAt(value, name);
  return typeof text === "string" ? text : undefined;
}

const withoutPlaceholders = (variables: Environment): Environment =>
  Object.freeze(Object.fromEntries(Object.entries(variables).filter(([, value]) => !isPlaceholder(value))));

// ---------------------------------------------------------------- notes

/** GOALD_ variables that are read elsewhere. */
const OTHER_NAMES = ["GOALD_HOME", "GOALD_DEBUG"];

/** A mistyped variable would be ignored in silence. */
function notesOnNames(...environments: readonly Environment[]): readonly string[] {
  const known = [...SETTINGS.flatMap((row) => row.environment), ...OTHER_NAMES];
  const unknown = environments
    .flatMap((variables) => Object.keys(variables))
    .filter((name) => name.startsWith("GOALD_") && !known.includes(name));
  return [...new Set(unknown)].map((name) => {
    const nearest = nearestName(name, known);
    return `${clean(name)} is not a setting of goald and is ignored.${nearest ? ` Did you mean ${nearest}?` : ""}`;
  });
}
