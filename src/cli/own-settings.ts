/**
 * own-settings.ts -- the settings of a home for `goald config`: described, changed in config/goald.json, removed from
 * it. A key is only shown as set or not set. A change checks the value first, and prints notices when a variable
 * overrides the file or a daemon still uses the old value.
 */
import { isHostHeld, readHostInfo } from "#api/daemon-files.ts";
import { printNote } from "#cli/terminal/print.ts";
import type { Home } from "#config/home.ts";
import {
  checkSettings,
  type FoundSetting,
  findInLayers,
  isPlaceholder,
  parseSettingText,
  quoteValue,
  type ReadSettings,
  readSettings,
  type SettingOrigin,
  shortenForDisplay,
} from "#config/load-settings.ts";
import { findSetting, SETTINGS, type Setting, valueAt } from "#config/settings.ts";
import { removeFromSettingsFile, setInSettingsFile, settingsPath } from "#config/settings-file.ts";
import { EXIT, GoaldError, orUndefined } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { createRedactor, type Redact } from "#util/redact.ts";
import { type AtHome, formatCall } from "./context.ts";

export async function setSetting({ home, output }: AtHome, typed: string, text: string): Promise<number> {
  const row = findSetting(typed);
  if (row.secret) throw keysAreNotKeptHere(row, home);
  if (isPlaceholder(text)) throw noValue(row, typed, text);
  const file = settingsPath(home);
  const value = parseSettingText(text, row);
  const before = await readSettings({ home, env: process.env });
  const given: FoundSetting = { row, value, written: text, origin: { layer: "flag", name: typed, file: "" } };
  const [wrong] = checkSettings(new Map([[row.name, given]])).problems;
  if (wrong) throw new GoaldError("GOALD_USAGE", wrong.sentence);
  await setInSettingsFile(file, row.name, value);
  const overriddenBy = winnerOver(row, before);
  const daemonNote = noteOfDaemon(home);
  const set = { name: row.name, value, file, overriddenBy, daemon: daemonNote !== undefined };
  if (!output.printJson(set)) output.say(clean(`Set ${row.name} to ${value ?? "none"} in ${file}`));
  if (overriddenBy) printNote(`${placeOf(overriddenBy)} overrides this.`);
  if (daemonNote) printNote(daemonNote);
  return EXIT.ok;
}

/** Also removes unknown names from the file; no other verb can. */
export async function unsetSetting({ home, output }: AtHome, typed: string): Promise<number> {
  const file = settingsPath(home);
  const isGroup = SETTINGS.some(({ name }) => name.startsWith(`${typed}.`));
  const isKnown = orUndefined(() => findSetting(typed)) !== undefined;
  const strange = !isGroup && !isKnown && (await removeFromSettingsFile(file, typed));
  const name = strange ? typed : findSetting(typed).name;
  const removed = strange || (await removeFromSettingsFile(file, name));
  const report = strange ? undefined : await reportAfter(typed, home);
  const daemonNote = removed ? noteOfDaemon(home) : undefined;
  if (output.json)
    output.data(JSON.stringify({ name, removed, file, now: report ?? null, daemon: daemonNote !== undefined }));
  else {
    const now = report ? ` It is ${report.value ?? "unset"} now (${originInWords(report.origin)}).` : "";
    output.say(clean(`${removed ? `Removed ${name} from` : `${name} is not in`} ${file}.${now}`));
  }
  if (daemonNote) printNote(daemonNote);
  return EXIT.ok;
}

/** Ignores problems of other settings in the file. */
async function reportAfter(typed: string, home: Home) {
  const read = await readSettings({ home, env: process.env }).catch(() => undefined);
  return read && reportOn(findSetting(typed), read);
}

function keysAreNotKeptHere({ name, environment }: Setting, { envFile }: Home): GoaldError {
  return new GoaldError("GOALD_USAGE", `${name} is a key, and keys do not belong in goald.json.`, {
    hint: `Write this line into ${envFile} (and chmod 600 it), or set the variable in the environment:\n${environment[0]}=…`,
  });
}

const noValue = ({ expected, name }: Setting, typed: string, text: string): GoaldError =>
  new GoaldError(
    "GOALD_USAGE",
    `${typed} must be ${expected}, got ${text.trim() === "" ? "an empty text" : "a template's placeholder"}.`,
    { hint: `Use the default: goald config ${name} --unset` },
  );

function winnerOver(row: Setting, { layers }: ReadSettings): SettingOrigin | null {
  const { origin } = findInLayers(row, layers).next().value as FoundSetting;
  return origin.layer === "environment" || origin.layer === ".env" ? origin : null;
}

const placeOf = ({ layer, name, file }: SettingOrigin): string =>
  `${name} in ${layer === ".env" ? file : "the environment"}`;

/** The note of a change while a daemon runs; undefined when none does. */
function noteOfDaemon(home: Home): string | undefined {
  if (!isHostHeld(home.lock)) return undefined;
  const info = readHostInfo(home.lock);
  const process = info ? ` (process ${info.pid})` : "";
  return `The daemon${process} still uses the old value until ${formatCall(home, "reload")} or its next start.`;
}

export type SettingReport = ReturnType<typeof reportOn>;

export function reportsOf(read: ReadSettings): readonly SettingReport[] {
  const redact = createRedactor(read.secrets);
  return SETTINGS.map((row) => reportOn(row, read, redact));
}

export function reportOn(row: Setting, read: ReadSettings, redact = createRedactor(read.secrets)) {
  const found = read.found.get(row.name) as FoundSetting;
  const wrong = read.problems.find(({ name }) => name === row.name);
  return {
    name: row.name,
    environment: row.environment,
    /** null when unset; "set" or "not set" for a secret; the written text for an invalid value. */
    value: row.secret ? isSet(found.value) : shown(found, wrong !== undefined, redact),
    default: row.secret ? isSet(null) : valueAt(read.layers.defaults, row.name),
    origin: found.origin,
    ...(row.secret ? { secret: true } : {}),
    /** Says in one sentence what is wrong; absent when the value is valid. */
    ...(wrong ? { problem: redact(wrong.sentence) } : {}),
  };
}

const isSet = (value: unknown): string => (value === null ? "not set" : "set");

function shown({ value, written }: FoundSetting, isWrong: boolean, redact: Redact) {
  if (isWrong) return redact(typeof written === "string" ? shortenForDisplay(written) : quoteValue(written));
  return typeof value === "string" ? redact(clean(value)) : (value as number | boolean | null);
}

/** Returns `environment (SMART_LLM)`, a file with the variable in it, or `default`. */
export function originInWords({ layer, name, file }: SettingOrigin): string {
  switch (layer) {
    case "flag":
    case "default":
      return layer;
    case "environment":
      return `environment (${name})`;
    case ".env":
      return `${clean(file)} (${name})`;
    case "goald.json":
      return clean(file);
  }
}
