/**
 * config-change.ts -- writes a setting into the home's config/goald.json, or removes it.
 *
 * It checks the value first, and prints notices when a variable overrides the file or a daemon still uses the old
 * value.
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
  type ReadSettings,
  readSettings,
  type SettingOrigin,
} from "#config/load-settings.ts";
import { findSetting, SETTINGS, type Setting } from "#config/settings.ts";
import { removeFromSettingsFile, setInSettingsFile, settingsPath } from "#config/settings-file.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/outside-text.ts";
import { originInWords, reportOn } from "./config-report.ts";
import { type CliContext, formatCall } from "./context.ts";

type Place = Pick<CliContext, "home" | "output">;

export async function setSetting({ home, output }: Place, typed: string, text: string): Promise<number> {
  const row = findSetting(typed);
  if (row.secret) throw keysAreNotKeptHere(row, home);
  if (isPlaceholder(text)) throw noValue(row, typed, text);
  const file = settingsPath(home);
  const value = parseSettingText(text, row);
  const before = await readSettings({ home, env: process.env });
  requireRight(before, { row, value, written: text, origin: { layer: "flag", name: typed, file: "" } });
  await setInSettingsFile(file, row.name, value);
  const overriddenBy = winnerOver(row, before);
  const daemonNote = noteOfDaemon(home);
  if (output.json)
    output.data(JSON.stringify({ name: row.name, value, file, overriddenBy, daemon: daemonNote !== undefined }));
  else output.say(clean(`Set ${row.name} to ${value === null ? "unset" : value} in ${file}`));
  if (overriddenBy) printNote(`${placeOf(overriddenBy)} overrides this.`);
  if (daemonNote) printNote(daemonNote);
  return EXIT.ok;
}

/** Also removes unknown names from the file; no other verb can. */
export async function unsetSetting({ home, output }: Place, typed: string): Promise<number> {
  const file = settingsPath(home);
  const isGroup = SETTINGS.some(({ name }) => name.startsWith(`${typed}.`));
  const strange = !isGroup && !isKnown(typed) && (await removeFromSettingsFile(file, typed));
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

const isKnown = (typed: string): boolean =>
  SETTINGS.some(({ name, environment }) => name === typed || environment.includes(typed));

/** Ignores problems of other settings in the file. */
async function reportAfter(typed: string, home: Home) {
  const read = await readSettings({ home, env: process.env }).catch(() => undefined);
  return read && reportOn(findSetting(typed), read);
}

// ---------------------------------------------------------------- what may be written

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

/** Checks the new value without overrides, together with the other settings. */
function requireRight({ found }: ReadSettings, given: FoundSetting): void {
  const { problems } = checkSettings(new Map([...found, [given.row.name, given]]));
  const own = problems.filter(({ name }) => name === given.row.name);
  if (own.length > 0) throw new GoaldError("GOALD_USAGE", own.map(({ sentence }) => sentence).join("\n"));
}

// ---------------------------------------------------------------- what it does not change

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
