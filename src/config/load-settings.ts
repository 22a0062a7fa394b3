/**
 * load-settings.ts -- loads all settings from flags, the environment, the home's `.env`, its config/goald.json and the
 * defaults.
 *
 * The first source that has a setting wins, and its origin is kept. All wrong values are reported at once.
 */
import { GoaldError } from "#core/errors.ts";
import { clip } from "#core/text.ts";
import { nearestName } from "#util/nearest-name.ts";
import { clean } from "#util/outside-text.ts";
import { type EnvFile, type Environment, readEnvFile } from "./env-file.ts";
import type { Home } from "./home.ts";
import { type SettingRow, splitServerKey, type ValueSchema } from "./setting-row.ts";
import {
  describeFormerSetting,
  readDefaults,
  SETTINGS,
  type Setting,
  type SettingName,
  type Settings,
  valueAt,
} from "./settings.ts";
import { readSettingsFile, type SettingsFile, settingsPath } from "./settings-file.ts";

/** The sources hold these beside the settings themselves. */
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

// Finds each setting in its sources: flags, the environment, the home's `.env`, its config/goald.json, and the shipped
// defaults.
//
// Values are read, not checked. Placeholders of a template count as unset. process.env is never changed.

export type SettingFlags = Readonly<Partial<Record<SettingName, string | number | boolean | null | undefined>>>;

export interface SettingSources {
  readonly flags?: SettingFlags;
  readonly env: Environment;
  /** A trusted home; absent when there is none yet. */
  readonly home?: Pick<Home, "envFile" | "configFolder"> | undefined;
}

export interface SettingOrigin {
  readonly layer: "flag" | "environment" | ".env" | "goald.json" | "default";
  /** The variable where there is one, else the setting. */
  readonly name: string;
  /** Path of the file; empty for flags and the environment. */
  readonly file: string;
}

/** The value of a setting in one source. */
export interface FoundSetting {
  readonly row: Setting;
  readonly value: unknown;
  /** As a person wrote it, for errors. */
  readonly written: unknown;
  readonly origin: SettingOrigin;
}

/** The contents of all sources. */
interface SettingLayers {
  readonly flags: SettingFlags;
  readonly env: Environment;
  readonly envFile: EnvFile & { readonly path: string };
  readonly file: SettingsFile | undefined;
  readonly defaults: unknown;
}

/** Throws GOALD_CONFIG for a file that cannot be read. */
async function readLayers({ flags = {}, env, home }: SettingSources): Promise<SettingLayers> {
  const [envFile, file] = await Promise.all([
    home ? readEnvFile(home.envFile) : { variables: {}, isOpen: false },
    home ? readSettingsFile(settingsPath(home)) : undefined,
  ]);
  return { flags, env, envFile: { ...envFile, path: home?.envFile ?? "" }, file, defaults: readDefaults() };
}

/** Yields the setting from every source that has it, the effective one first. */
export function* findInLayers(row: Setting, layers: SettingLayers): Generator<FoundSetting, undefined> {
  const flag = layers.flags[row.name];
  if (flag !== undefined) yield parseFound(row, flag, { layer: "flag", name: row.name, file: "" });
  for (const [layer, variables, file] of [
    ["environment", layers.env, ""],
    [".env", layers.envFile.variables, layers.envFile.path],
  ] as const) {
    const name = row.environment.find((candidate) => !isPlaceholder(ownVariable(variables, candidate)));
    if (name !== undefined) yield parseFound(row, ownVariable(variables, name), { layer, name, file });
  }
  const stored = valueAt(layers.file?.value, row.name);
  if (layers.file && stored !== undefined && !(typeof stored === "string" && isPlaceholder(stored)))
    yield asWritten(row, stored, { layer: "goald.json", name: row.name, file: layers.file.path });
  yield asWritten(row, valueAt(layers.defaults, row.name), {
    layer: "default",
    name: row.name,
    file: "config/default.json",
  });
}

function parseFound(row: Setting, written: unknown, origin: SettingOrigin): FoundSetting {
  const value = typeof written === "string" ? parseSettingText(written, row) : written;
  return { row, value, written, origin };
}

const asWritten = (row: Setting, value: unknown, origin: SettingOrigin): FoundSetting => ({
  row,
  value,
  written: value,
  origin,
});

const ownVariable = (variables: Environment, name: string): string | undefined =>
  Object.hasOwn(variables, name) ? variables[name] : undefined;

// ---------------------------------------------------------------- text of variables and flags

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
      return BOOLEAN_WORDS[value.toLowerCase()] ?? value;
    case "string":
      return normalizeText(value, row);
  }
}

/** Matched in any case: AutoGPT's files have Python's True and False. */
const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  1: true,
  false: false,
  no: false,
  off: false,
  0: false,
};

function normalizeText(value: string, { name, schema }: SettingRow): string {
  if (name.endsWith(".baseUrl")) return value.replace(/\/{1,20}$/, "");
  return schema.enum?.find((choice) => choice?.toLowerCase() === value.toLowerCase()) ?? value;
}

// Assembles the settings that were found and checks them against the table.
//
// The schemas use a small part of JSON Schema, checked here in less than a millisecond. Loading and compiling ajv would
// take a quarter of the time of a short verb. A test compares this check with ajv's verdict and messages for every row.

export interface SettingProblem {
  /** The setting with the wrong value; undefined for a variable that is not a setting any more. */
  readonly name?: SettingName;
  readonly sentence: string;
}

interface CheckedSettings {
  /** Complete and frozen; a `Settings` when there are no problems. */
  readonly settings: object;
  readonly problems: readonly SettingProblem[];
}

export function checkSettings(found: ReadonlyMap<SettingName, FoundSetting>): CheckedSettings {
  const settings: Record<string, unknown> = {};
  for (const [name, { value }] of found) setAt(settings, name.split("."), value);
  const wrong = new Set(findSchemaProblems(settings).map((problem) => problem.name));
  for (const [name, { value }] of found)
    if (/\.baseUrl$|^web\.allow$/.test(name) && typeof value === "string" && !value.split(/[,\s]+/).every(isAddress))
      wrong.add(name);
  const problems = [...found].filter(([name]) => wrong.has(name)).map(([name, one]) => describeProblem(name, one));
  return { settings: deepFreeze(settings), problems };
}

const isAddress = (text: string): boolean => URL.canParse(text);

function describeProblem(name: SettingName, { row, written, origin }: FoundSetting): SettingProblem {
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

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  return Object.freeze(value);
}

// ---------------------------------------------------------------- against the schemas

export interface SchemaProblem {
  /** Dotted; "" for a problem of the whole object. */
  readonly name: string;
  /** In ajv's words. */
  readonly message: string;
}

/** Checks complete settings; returns an empty list when they are right. */
export const findSchemaProblems = (settings: unknown): readonly SchemaProblem[] => [
  ...problemsBelow("", SCHEMAS, settings),
];

/** Names, each with a setting's schema or with a group of more names. */
type SchemaTree = ReadonlyMap<string, SchemaTree | ValueSchema>;

const SCHEMAS = treeOf(SETTINGS.map(({ name, schema }) => [name.split("."), schema]));

function treeOf(rows: readonly (readonly [path: readonly string[], schema: ValueSchema])[]): SchemaTree {
  const groups = Map.groupBy(rows, ([[first = ""]]) => first);
  const tree = new Map<string, SchemaTree | ValueSchema>();
  for (const [first, members] of groups) {
    const [only] = members;
    if (only?.[0].length === 1) tree.set(first, only[1]);
    else tree.set(first, treeOf(members.map(([path, schema]) => [path.slice(1), schema])));
  }
  return tree;
}

function* problemsBelow(name: string, tree: SchemaTree, value: unknown): Generator<SchemaProblem> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    yield { name, message: "must be object" };
    return;
  }
  for (const part of Object.keys(value))
    if (!tree.has(part)) yield { name, message: `must NOT have additional properties (${part})` };
  for (const [part, expected] of tree) {
    const inner: unknown = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
    const innerName = name === "" ? part : `${name}.${part}`;
    if (inner === undefined) yield { name, message: `must have required property '${part}'` };
    else if (expected instanceof Map) yield* problemsBelow(innerName, expected, inner);
    else for (const message of checkValue(inner, expected as ValueSchema)) yield { name: innerName, message };
  }
}

function* checkValue(value: unknown, schema: ValueSchema): Generator<string> {
  if (!hasType(value, schema)) yield `must be ${schema.type}`;
  if (typeof value === "string") yield* checkText(value, schema);
  if (typeof value === "number") yield* checkNumber(value, schema);
  if (schema.enum && !schema.enum.includes(value as string)) yield "must be equal to one of the allowed values";
}

function hasType(value: unknown, { type, nullable }: ValueSchema): boolean {
  if (value === null) return nullable === true;
  if (type === "integer") return Number.isInteger(value);
  return type === "number" ? Number.isFinite(value) : typeof value === type;
}

function* checkText(text: string, { minLength, maxLength, pattern }: ValueSchema): Generator<string> {
  if (maxLength !== undefined && countCharacters(text) > maxLength)
    yield `must NOT have more than ${maxLength} characters`;
  if (minLength !== undefined && countCharacters(text) < minLength)
    yield `must NOT have fewer than ${minLength} characters`;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) yield `must match pattern "${pattern}"`;
}

/** JSON Schema counts a character outside the basic plane as one. */
const countCharacters = (text: string): number => [...text].length;

function* checkNumber(value: number, { minimum, maximum }: ValueSchema): Generator<string> {
  if (!Number.isFinite(value)) return;
  if (maximum !== undefined && value > maximum) yield `must be <= ${maximum}`;
  if (minimum !== undefined && value < minimum) yield `must be >= ${minimum}`;
}
