/**
 * load.ts -- settings from everywhere: flags, then the environment, then the home's `.env`, then its
 * config/goald.json, then the shipped defaults.
 *
 * Each setting is taken from the first source that has it, and remembers which that was. Values that
 * are still a template's placeholder count as unset. All that is wrong is said at once, each
 * with its variable or file, what was expected and what came. Nothing is written, process.env least of all.
 */
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { type Environment, readEnvFile } from "./env-file.ts";
import type { Home } from "./home.ts";
import { nearestName } from "./nearest.ts";
import { problemsIn } from "./schema.ts";
import { secretsOf } from "./secrets.ts";
import { isPlaceholder, parseText } from "./setting-text.ts";
import { readDefaults, type Settings, valueAt } from "./settings.ts";
import { readSettingsFile } from "./settings-file.ts";
import { SETTINGS, type SettingName, type SettingRow } from "./settings-table.ts";

export type SettingFlags = Readonly<Partial<Record<SettingName, string | number | boolean | null | undefined>>>;

export interface SettingSources {
  readonly flags?: SettingFlags;
  readonly env: Environment;
  /** A trusted home; absent when there is none yet. */
  readonly home?: Pick<Home, "envFile" | "configFolder"> | undefined;
}

interface Origin {
  readonly layer: "flag" | "environment" | ".env" | "goald.json" | "default";
  /** The variable's name where there is one, else the setting's. */
  readonly name: string;
  /** The file's path; empty for flags and the environment. */
  readonly file: string;
}

export interface LoadedSettings {
  readonly settings: Settings;
  originOf(name: SettingName): Origin;
  /** What a person should know and need not act on, each a sentence. */
  readonly notes: readonly string[];
  /** The environment over the home's `.env`, placeholders left out: for keys that are no settings. */
  readonly environment: Environment;
  /** Everything that must never be shown, from every source. */
  readonly secrets: readonly string[];
}

/** Throws GOALD_CONFIG; the message has a line for each thing that is wrong. */
export async function loadSettings({ flags = {}, env, home }: SettingSources): Promise<LoadedSettings> {
  const envFile = home ? await readEnvFile(home.envFile) : { variables: {}, isOpen: false };
  const file = home ? await readSettingsFile(join(home.configFolder, "goald.json")) : undefined;
  const layers: Layers = {
    flags,
    env,
    envFile: envFile.variables,
    envPath: home?.envFile ?? "",
    file,
    defaults: readDefaults(),
  };
  const found = new Map(SETTINGS.map((row) => [row.name, find(row, layers)]));
  const settings = await check(found);
  const readable = envFile.isOpen && secretsOf(settings, envFile.variables).length > 0;
  return Object.freeze({
    settings,
    originOf: (name: SettingName) => (found.get(name) as Found).origin,
    notes: [
      ...notesOnNames(env, envFile.variables),
      ...(readable ? [`Others can read the keys in ${layers.envPath}: chmod 600 it.`] : []),
    ],
    environment: withoutPlaceholders({ ...envFile.variables, ...withoutPlaceholders(env) }),
    secrets: secretsOf(settings, env, envFile.variables, { FILE_KEY: textAt(file?.value, "openai.apiKey") }),
  });
}

// ---------------------------------------------------------------- where a setting comes from

interface Layers {
  readonly flags: SettingFlags;
  readonly env: Environment;
  readonly envFile: Environment;
  readonly envPath: string;
  readonly file: { readonly path: string; readonly value: unknown } | undefined;
  readonly defaults: unknown;
}
interface Found {
  readonly row: SettingRow;
  readonly value: unknown;
  /** As it was written, for the message when it is wrong. */
  readonly written: unknown;
  readonly origin: Origin;
}

function find(row: SettingRow & { readonly name: SettingName }, layers: Layers): Found {
  const flag = layers.flags[row.name];
  if (flag !== undefined) return foundIn(row, flag, { layer: "flag", name: row.name, file: "" });
  for (const [layer, variables, file] of [
    ["environment", layers.env, ""],
    [".env", layers.envFile, layers.envPath],
  ] as const) {
    const name = row.environment.find((candidate) => !isPlaceholder(own(variables, candidate)));
    if (name !== undefined) return foundIn(row, own(variables, name), { layer, name, file });
  }
  const stored = valueAt(layers.file?.value, row.name);
  if (layers.file && stored !== undefined && !(typeof stored === "string" && isPlaceholder(stored)))
    return {
      row,
      value: stored,
      written: stored,
      origin: { layer: "goald.json", name: row.name, file: layers.file.path },
    };
  const value = valueAt(layers.defaults, row.name);
  return { row, value, written: value, origin: { layer: "default", name: row.name, file: "config/default.json" } };
}

function foundIn(row: SettingRow, written: unknown, origin: Origin): Found {
  return { row, written, origin, value: typeof written === "string" ? parseText(written, row, origin.layer) : written };
}

const own = (variables: Environment, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

function textAt(value: unknown, name: string): string | undefined {
  const text = valueAt(value, name);
  return typeof text === "string" ? text : undefined;
}

const withoutPlaceholders = (variables: Environment): Environment =>
  Object.freeze(Object.fromEntries(Object.entries(variables).filter(([, value]) => !isPlaceholder(value))));

// ---------------------------------------------------------------- whether it is right

async function check(found: ReadonlyMap<SettingName, Found>): Promise<Settings> {
  const settings: Record<string, unknown> = {};
  for (const [name, { value }] of found) setAt(settings, name.split("."), value);
  const wrong = new Set((await problemsIn(settings)).map((problem) => problem.name));
  const { baseUrl } = settings.openai as { baseUrl: unknown };
  if (typeof baseUrl === "string" && !URL.canParse(baseUrl)) wrong.add("openai.baseUrl");
  const problems = [...found.values()].filter(({ row }) => wrong.has(row.name)).map(sentence);
  const { yes, no } = settings.keys as Settings["keys"];
  if (problems.length === 0 && yes.toLowerCase() === no.toLowerCase())
    problems.push(`keys.yes and keys.no must differ, got ${JSON.stringify(yes)} for both.`);
  if (problems.length > 0)
    throw new GoaldError("GOALD_CONFIG", problems.join("\n"), { hint: "Correct it, or remove it to use the default." });
  return deepFreeze(settings) as unknown as Settings;
}

/** Addresses may carry a password before the @ or a key behind the question mark. */
const withoutCredentials = (text: string): string => text.replace(/\/\/[^/@"]*@/g, "//…@").replace(/\?[^"]*/g, "?…");

function sentence({ row, written, origin }: Found): string {
  const source = origin.layer === "flag" ? "command line" : origin.file || origin.layer;
  const got = row.secret
    ? "a value that is not shown"
    : clean(clip(withoutCredentials(JSON.stringify(written) ?? "nothing"), 120));
  return `${origin.name} (${source}) must be ${row.expected}, got ${got}.`;
}

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
