/**
 * load-settings.ts -- loads all settings from flags, the environment, the home's `.env`, its config/goald.json and the
 * defaults.
 *
 * The first source that has a setting wins, and its origin is kept. All wrong values are reported at once.
 */
import { GoaldError, orUndefined } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { deepFreeze, isRecord, parseJson } from "#util/json.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import { type Environment, readEnvFile } from "./env-file.ts";
import type { Home } from "./home.ts";
import { type SettingRow, splitServerKey, type ValueSchema, withScheme } from "./setting-row.ts";
import { readDefaults, SETTINGS, type Setting, type SettingName, type Settings, valueAt } from "./settings.ts";
import { readSettingsFile, settingsPath } from "./settings-file.ts";

export type LoadedSettings = Awaited<ReturnType<typeof loadSettings>>;

/** Throws GOALD_CONFIG; its message has one line per wrong value. */
export async function loadSettings(sources: SettingSources) {
  const { settings, problems, found, notes, secrets } = await readSettings(sources);
  if (problems.length > 0) throw wrongSettings(problems);
  const originOf = (name: SettingName): SettingOrigin => (found.get(name) as FoundSetting).origin;
  return Object.freeze({ notes, secrets, settings: settings as Settings, originOf });
}

export const wrongSettings = (problems: ReadSettings["problems"]): GoaldError =>
  new GoaldError("GOALD_CONFIG", problems.map(({ sentence }) => sentence).join("\n"), {
    hint: "Correct it, or remove it to use the default.",
  });

/** All settings, right or wrong. */
export type ReadSettings = Awaited<ReturnType<typeof readSettings>>;

/** Returns wrong values as problems, so that verbs can show and repair them. Throws GOALD_CONFIG for an unreadable file. */
export async function readSettings(sources: SettingSources) {
  const layers = await readLayers(sources);
  const { env, envFile, file } = layers;
  const found = new Map(SETTINGS.map((row) => [row.name, findInLayers(row, layers).next().value as FoundSetting]));
  const checked = checkSettings(found);
  const settings = checked.settings as Settings;
  const exposesKeys = envFile.isOpen && findSecrets([settings], envFile.variables).length > 0;
  return {
    ...checked,
    found,
    layers,
    /** Sentences for the person that need no action. */
    notes: [
      ...noteUnknownVariables(env, envFile.variables),
      ...envFile.withoutSign
        .filter((name) => KNOWN_VARIABLES.includes(name))
        .map((name) => `${name} in ${envFile.path} is ignored: its line has no =. Write ${name}=VALUE`),
      ...noteVariablesOfAutoGpt(envFile.variables),
      ...(exposesKeys ? [`Other users can read the keys in ${envFile.path}. Run: chmod 600 ${envFile.path}`] : []),
    ],
    /** Every secret of every source, for the redactor. */
    secrets: findSecrets([settings, file?.value], env, envFile.variables),
  };
}

/** Variables of AutoGPT's `.env` that goald does not read, and what does their work. */
const AUTOGPT_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["AI_SETTINGS_FILE", "Name the file: goald run --from FILE"],
  ["AUTHORISE_COMMAND_KEY", "The answers are y and n."],
  ["EXIT_KEY", "The answers are y and n."],
  ["GITHUB_USERNAME", "Servers accept a key without it."],
  ["OPENAI_ORGANIZATION", "The organization is that of the key's project."],
  ["PINECONE_ENV", "The index may be in any region."],
  ["PLAIN_OUTPUT", "Set NO_COLOR=1, or use --no-color."],
  ["USER_AGENT", "goald has a fixed value for it."],
]);

const noteVariablesOfAutoGpt = (variables: Environment): readonly string[] =>
  Object.keys(variables).flatMap((name) => {
    const instead = AUTOGPT_VARIABLES.get(name);
    return instead === undefined || isPlaceholder(variables[name])
      ? []
      : [`${name} is not a setting of goald. ${instead}`];
  });

/** The variables of all settings, and the two that goald reads beside them. */
const KNOWN_VARIABLES = [...SETTINGS.flatMap((row) => row.environment), "GOALD_HOME", "GOALD_DEBUG"];

/** A mistyped variable has no effect, so a person should see it. */
function noteUnknownVariables(...environments: readonly Environment[]): readonly string[] {
  const unknown = new Set<string>();
  for (const variables of environments)
    for (const name of Object.keys(variables))
      if (name.startsWith("GOALD_") && !KNOWN_VARIABLES.includes(name)) unknown.add(name);
  return [...unknown].map((name) => {
    const nearest = nearestName(name, KNOWN_VARIABLES);
    return `${clean(name)} is not a setting of goald and is ignored.${nearest ? ` Did you mean ${nearest}?` : ""}`;
  });
}

/** The end of a name may count or describe the key: `API_KEY_2`, `PRIVATE_KEY_PEM`. */
const SECRET_NAME =
  /(?:KEY|TOKEN|COOKIE|CREDENTIAL|WEBHOOK(?:_URL)?|(?:^|_)(?:AUTH|PAT|BEARER|DSN)|(?:^|_|DB|PG)PASS|PASSPHRASE|_PWD?)S?(?:_?\d+)?(?:_(?:PEM|JSON|B64|BASE64|OLD|BACKUP))?$|SECRET|PASSWORD|PASSWD|CONNECTION_STRING/i;
/** Variables of settings that are not marked secret, whatever their names. */
const PUBLIC_NAMES = new Set(SETTINGS.filter((row) => !row.secret).flatMap((row) => row.environment));

/** A plain word or a short number (`DB_PASSWORD=example`): redacting it would make ordinary text unreadable. */
const PLAIN_WORD = /^(?:\p{L}+|\d{1,7}|.{1,5})$/u;

/**
 * Finds the values that must never be shown: secret settings, variables named like a key, token, secret or password
 * (commands keep theirs there), and passwords in addresses. Prefers a value too many over one too few. `settings`: checked
 * ones, and those of a file.
 */
export function findSecrets(settings: readonly unknown[], ...environments: readonly Environment[]): readonly string[] {
  const values: unknown[] = [];
  for (const each of settings) for (const row of SETTINGS) if (row.secret) values.push(valueAt(each, row.name));
  for (const environment of environments)
    for (const [name, value = ""] of Object.entries(environment)) {
      if (SECRET_NAME.test(name) && !PUBLIC_NAMES.has(name)) values.push(value);
      values.push(...findPassword(value));
    }
  const secrets = new Set<string>();
  for (const value of values) {
    if (typeof value !== "string") continue;
    const text = value.trim();
    for (const secret of [text, splitServerKey(text).key])
      if (secret !== "" && !PLAIN_WORD.test(secret)) secrets.add(secret);
  }
  return [...secrets];
}

/** The password of `postgres://user:password@host`, as written and decoded, or of `Server=host;Password=password`. */
function findPassword(value: string): readonly string[] {
  const [, ofAddress, ofList] =
    /^[a-z][a-z\d+.-]{0,20}:\/\/[^/?#\s:@]{0,200}:([^/?#\s@]{1,200})@|[;?&](?:password|pwd|accountkey)=([^;&]{1,200})/i.exec(
      value,
    ) ?? [];
  const password = ofAddress ?? ofList;
  if (password === undefined) return [];
  return URL.canParse(value) ? [password, orUndefined(() => decodeURIComponent(password)) ?? password] : [password];
}

export type SettingFlags = Readonly<Partial<Record<SettingName, string | number | boolean | null | undefined>>>;

export interface SettingSources {
  readonly flags?: SettingFlags;
  readonly env: Environment;
  /** A trusted home, which need not be there yet. */
  readonly home: Pick<Home, "envFile" | "configFolder">;
}

export interface SettingOrigin {
  readonly layer: "flag" | "environment" | ".env" | "goald.json" | "default";
  /** The variable where there is one, else the setting. */
  readonly name: string;
  /** Path of the file; empty for flags and the environment. */
  readonly file: string;
}

export interface FoundSetting {
  readonly row: Setting;
  readonly value: unknown;
  /** As a person wrote it, for errors. */
  readonly written: unknown;
  readonly origin: SettingOrigin;
}

type SettingLayers = Awaited<ReturnType<typeof readLayers>>;

/** Throws GOALD_CONFIG for a file that cannot be read. */
async function readLayers({ flags = {}, env, home }: SettingSources) {
  const [envFile, file] = await Promise.all([readEnvFile(home.envFile), readSettingsFile(settingsPath(home))]);
  return { flags, env, envFile: { ...envFile, path: home.envFile }, file, defaults: readDefaults() };
}

/**
 * Finds the setting in its sources: flags, the environment, the home's `.env`, its config/goald.json, and the shipped
 * defaults. Yields it from every source that has it, the effective one first. Values are read, not checked.
 * Placeholders of a template count as unset. process.env is never changed.
 */
export function* findInLayers(row: Setting, layers: SettingLayers): Generator<FoundSetting, undefined> {
  const { name } = row;
  const flag = layers.flags[name];
  if (flag !== undefined) yield parseFound(row, flag, { layer: "flag", name, file: "" });
  for (const [layer, variables, file] of [
    ["environment", layers.env, ""],
    [".env", layers.envFile.variables, layers.envFile.path],
  ] as const) {
    const variable = row.environment.find((candidate) => !isPlaceholder(variables[candidate]));
    if (variable !== undefined) yield parseFound(row, variables[variable], { layer, name: variable, file });
  }
  const stored = valueAt(layers.file?.value, name);
  if (layers.file && stored !== undefined && !(typeof stored === "string" && isPlaceholder(stored)))
    yield parseFound(row, stored, { layer: "goald.json", name, file: layers.file.path });
  const value = valueAt(layers.defaults, name);
  yield { row, value, written: value, origin: { layer: "default", name, file: "config/default.json" } };
}

function parseFound(row: Setting, written: unknown, origin: SettingOrigin): FoundSetting {
  const value = typeof written === "string" ? parseSettingText(written, row) : written;
  return { row, value, written, origin };
}

/** `your-openai-api-key`, `<key>`, `sk-...`, or nothing at all. */
export function isPlaceholder(text: string | undefined): boolean {
  const value = text?.trim() ?? "";
  return value === "" || /^(?:your[-_ ].*|<.*>|github_pat_123|sk-(?:\.{3}|…|x+))$/i.test(value);
}

/** Converts trimmed text to the row's type. Text of another type stays text, which the schema then refuses. */
export function parseSettingText(text: string, row: SettingRow): unknown {
  const value = text.trim();
  if (row.schema.nullable && /^(?:none|null|unset)$/i.test(value)) return null;
  switch (row.schema.type) {
    case "integer":
      return /^[+-]?\d{1,15}$/.test(value) ? Number(value) : value;
    case "number":
      return /^[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})$/.test(value) ? Number(value) : value;
    case "boolean":
      // AutoGPT's files have Python's True and False.
      if (/^(?:true|yes|on|1)$/i.test(value)) return true;
      return /^(?:false|no|off|0)$/i.test(value) ? false : value;
    case "string":
      return normalizeText(value, row);
  }
}

function normalizeText(value: string, { name, schema }: SettingRow): string {
  if (name.endsWith(".baseUrl")) return withScheme(value).replace(/\/{1,20}$/, "");
  return schema.enum?.find((choice) => choice?.toLowerCase() === value.toLowerCase()) ?? value;
}

/**
 * Assembles the settings that were found and checks them against the table. `settings`: complete and frozen; a
 * `Settings` when there are no problems.
 */
export function checkSettings(found: ReadonlyMap<SettingName, FoundSetting>) {
  const settings: Record<string, unknown> = {};
  for (const [name, { value }] of found) setAt(settings, name.split("."), value);
  const isRight = (name: SettingName, { row, value }: FoundSetting): boolean =>
    isAllowed(value, row.schema) && (typeof value !== "string" || canBeRead(name, value));
  const wrong = [...found].filter(([name, one]) => !isRight(name, one));
  return { settings: deepFreeze(settings), problems: wrong.map(([name, one]) => describeProblem(name, one)) };
}

/** Judges the texts that a schema cannot describe: addresses, and JSON in the place of a name. */
function canBeRead(name: SettingName, text: string): boolean {
  if (/\.baseUrl$|^web\.allow$/.test(name)) return text.split(/[,\s]+/).every((each) => URL.canParse(each));
  return name !== "sandbox.location" || !/^[[{]/.test(text) || isRecord(parseJson(text));
}

function describeProblem(name: SettingName, { row, written, origin }: FoundSetting) {
  const source = origin.layer === "flag" ? "command line" : origin.file || origin.layer;
  const got = row.secret ? "a value that is not shown" : quoteValue(written);
  return { name, sentence: `${origin.name} (${source}) must be ${row.expected}, got ${got}.` };
}

/** A value as written, in JSON, made safe to show by `shortenForDisplay`. */
export const quoteValue = (written: unknown): string => shortenForDisplay(JSON.stringify(written) ?? "nothing");
/** Text without control characters and without credentials in addresses, at most 120 characters. */
export const shortenForDisplay = (text: string): string => clean(clip(withoutCredentials(text), 120));

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

/**
 * Checks a value against the small part of JSON Schema that the schemas of settings use, in less than a millisecond.
 * Loading and compiling ajv would take a quarter of the time of a short verb. A test compares this check with ajv's
 * verdict for every row.
 */
export function isAllowed(value: unknown, schema: ValueSchema): boolean {
  const { type, nullable, enum: choices, minimum, maximum } = schema;
  if (choices && !choices.includes(value as string)) return false;
  if (value === null) return nullable === true;
  if (typeof value === "string") return type === "string" && isAllowedText(value, schema);
  if (typeof value !== "number") return typeof value === type;
  const isOfType = type === "integer" ? Number.isInteger(value) : type === "number" && Number.isFinite(value);
  return isOfType && value >= (minimum ?? value) && value <= (maximum ?? value);
}

function isAllowedText(text: string, { minLength = 0, maxLength, pattern }: ValueSchema): boolean {
  // JSON Schema counts a character outside the basic plane as one.
  const { length } = [...text];
  if (length < minLength || length > (maxLength ?? length)) return false;
  return pattern === undefined || new RegExp(pattern, "u").test(text);
}
