/**
 * load.ts -- loads all settings from flags, the environment, the home's `.env`, its config/goald.json and the defaults.
 *
 * The first source that has a setting wins, and its origin is kept. All wrong values are reported at once.
 */
import { GoaldError } from "#core/errors.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import { type CheckedSettings, checkSettings } from "./check-settings.ts";
import type { Environment } from "./env-file.ts";
import {
  type FoundSetting,
  findInLayers,
  isPlaceholder,
  readLayers,
  type SettingLayers,
  type SettingOrigin,
  type SettingSources,
} from "./find-settings.ts";
import { splitServerKey } from "./setting-row.ts";
import { describeFormerSetting, SETTINGS, type SettingName, type Settings, valueAt } from "./settings.ts";

export type { SettingFlags, SettingSources } from "./find-settings.ts";

/** What the sources hold beside the settings themselves. */
interface SourceExtras {
  /** Sentences for the person that need no action. */
  readonly notes: readonly string[];
  /** The environment merged over the home's `.env`, without placeholders: commands read their own keys here. */
  readonly environment: Environment;
  /** Every secret of every source, for the redactor. */
  readonly secrets: readonly string[];
}

export interface LoadedSettings extends SourceExtras {
  readonly settings: Settings;
  originOf(name: SettingName): SettingOrigin;
}

/** Throws GOALD_CONFIG; its message has one line per wrong value. */
export async function loadSettings(sources: SettingSources): Promise<LoadedSettings> {
  const { settings, problems, found, layers: _layers, ...rest } = await readSettings(sources);
  if (problems.length > 0) throw wrongSettings(problems);
  return Object.freeze({
    ...rest,
    settings: settings as Settings,
    originOf: (name: SettingName) => (found.get(name) as FoundSetting).origin,
  });
}

export const wrongSettings = (problems: CheckedSettings["problems"]): GoaldError =>
  new GoaldError("GOALD_CONFIG", problems.map(({ sentence }) => sentence).join("\n"), {
    hint: "Correct it, or remove it to use the default.",
  });

/** All settings, right or wrong. */
export interface ReadSettings extends CheckedSettings, SourceExtras {
  readonly found: ReadonlyMap<SettingName, FoundSetting>;
  readonly layers: SettingLayers;
}

/** Returns wrong values as problems, so that verbs can show and repair them. Throws GOALD_CONFIG for an unreadable file. */
export async function readSettings(sources: SettingSources): Promise<ReadSettings> {
  const layers = await readLayers(sources);
  const { env, envFile, file } = layers;
  const found = new Map(SETTINGS.map((row) => [row.name, findInLayers(row, layers).next().value as FoundSetting]));
  const checked = checkSettings(found);
  const settings = checked.settings as Settings;
  const former = findFormerVariables({ ...envFile.variables, ...env });
  const exposesKeys = envFile.isOpen && findSecrets(settings, envFile.variables).length > 0;
  return {
    ...checked,
    problems: [...checked.problems, ...former.map((sentence) => ({ sentence }))],
    found,
    layers,
    notes: [
      ...noteUnknownVariables(env, envFile.variables),
      ...noteFormerVariables(envFile.variables),
      ...(exposesKeys ? [`Other users can read the keys in ${envFile.path}. Run: chmod 600 ${envFile.path}`] : []),
    ],
    environment: withoutPlaceholders({ ...envFile.variables, ...withoutPlaceholders(env) }),
    secrets: findSecrets(settings, env, envFile.variables, { FILE_KEY: textAt(file?.value, "openai.apiKey") }),
  };
}

function textAt(value: unknown, name: string): string | undefined {
  const text = valueAt(value, name);
  return typeof text === "string" ? text : undefined;
}

const noteFormerVariables = (variables: Environment): readonly string[] =>
  Object.keys(withoutPlaceholders(variables)).flatMap((name) =>
    name.startsWith("GOALD_") ? [] : (describeFormerSetting(name) ?? []),
  );

const withoutPlaceholders = (variables: Environment): Environment =>
  Object.freeze(Object.fromEntries(Object.entries(variables).filter(([, value]) => !isPlaceholder(value))));

/** GOALD_ variables that are not settings. */
const OTHER_VARIABLES = ["GOALD_HOME", "GOALD_DEBUG"];

/** Variables without GOALD_ may belong to other programs, so they are only noted, and only those of the home's `.env`. */
const findFormerVariables = (variables: Environment): readonly string[] =>
  Object.keys(variables).flatMap((name) => (name.startsWith("GOALD_") ? (describeFormerSetting(name) ?? []) : []));

/** A mistyped variable has no effect, so a person should see it. */
function noteUnknownVariables(...environments: readonly Environment[]): readonly string[] {
  const known = [...SETTINGS.flatMap((row) => row.environment), ...OTHER_VARIABLES];
  const unknown = environments
    .flatMap((variables) => Object.keys(variables))
    .filter((name) => name.startsWith("GOALD_") && !known.includes(name) && !describeFormerSetting(name));
  return [...new Set(unknown)].map((name) => {
    const nearest = nearestName(name, known);
    return `${clean(name)} is not a setting of goald and is ignored.${nearest ? ` Did you mean ${nearest}?` : ""}`;
  });
}

// ---------------------------------------------------------------- secrets

const SECRET_NAME = /(?:^|_)(?:\w*KEY|TOKEN|AUTH|PAT|PASS|PASSPHRASE|CREDENTIALS?|DSN)$|SECRET|PASSWORD|PASSWD/i;
/** Variables of settings that are not marked secret, whatever their names. */
const PUBLIC_NAMES = new Set(SETTINGS.filter((row) => !row.secret).flatMap((row) => row.environment));

/** A plain word or a short number (`DB_PASSWORD=example`): redacting it would make ordinary text unreadable. */
const PLAIN_WORD = /^(?:\p{L}+|\d{1,7}|.{1,5})$/u;

/**
 * Finds the values that must never be shown: secret settings, variables named like a key, token, secret or password
 * (commands keep theirs there), and passwords in addresses. Prefers a value too many over one too few.
 */
export function findSecrets(settings: Settings, ...environments: readonly Environment[]): readonly string[] {
  const values = SETTINGS.filter((row) => row.secret).map((row) => valueAt(settings, row.name));
  for (const [name, value = ""] of environments.flatMap((environment) => Object.entries(environment))) {
    if (SECRET_NAME.test(name) && !PUBLIC_NAMES.has(name)) values.push(value);
    values.push(...findPassword(value));
  }
  const texts = values.filter((value) => typeof value === "string").map((value) => value.trim());
  const secrets = texts.flatMap((text) => [text, splitServerKey(text).key]);
  return [...new Set(secrets)].filter((value) => value !== "" && !PLAIN_WORD.test(value));
}

/** The password of `postgres://user:password@host`, as written and decoded. */
function findPassword(value: string): readonly string[] {
  const password = /^[a-z][a-z\d+.-]{0,20}:\/\/[^/?#\s:@]{0,200}:([^/?#\s@]{1,200})@/i.exec(value)?.[1];
  if (password === undefined) return [];
  return URL.canParse(value) ? [password, decodeOrKeep(password)] : [password];
}

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
