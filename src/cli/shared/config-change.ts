/**
 * config-change.ts -- writes a setting into the home's config/goald.json, or takes it out.
 *
 * A value is checked before anything is written, and what stands above it or has not heard of it yet is
 * said: a variable that wins over the file, a daemon that goes on with what it read.
 */

import { isHostHeld, readHostInfo } from "#api/host-lock.ts";
import { type Found, findAll, type Origin } from "#config/find-settings.ts";
import type { Home } from "#config/home.ts";
import { judge } from "#config/judge-settings.ts";
import { type ReadSettings, readSettings } from "#config/load.ts";
import { settingNamed } from "#config/setting-name.ts";
import { isPlaceholder, parseText } from "#config/setting-text.ts";
import { removeFromSettingsFile, setInSettingsFile, settingsPath } from "#config/settings-file.ts";
import { type NamedRow, SETTINGS } from "#config/settings-table.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { originInWords, reportOn } from "./config-report.ts";
import { type CliContext, formatCall } from "./context.ts";

type Place = Pick<CliContext, "home" | "output">;

export async function setSetting({ home, output }: Place, typed: string, text: string): Promise<number> {
  const { row, byVariable } = settingNamed(typed);
  if (row.secret) throw keysAreNotKeptHere(row, home);
  if (isPlaceholder(text)) throw noValue(row, typed, text);
  const file = settingsPath(home);
  // NO_COLOR=anything says no; `color` says what it is given.
  const value = parseText(text, row, byVariable ? "environment" : "flag");
  const before = await readSettings({ home, env: process.env });
  requireRight(before, { row, value, written: text, origin: { layer: "flag", name: typed, file: "" } });
  await setInSettingsFile(file, row.name, value);
  const overriddenBy = winnerOver(row, before);
  const host = runningHost(home);
  if (output.json) output.data(JSON.stringify({ name: row.name, value, file, overriddenBy, host: host?.role ?? null }));
  else output.say(clean(`${row.name} is ${value === null ? "unset" : value} now, in ${file}`));
  if (overriddenBy) console.error(clean(`${placeOf(overriddenBy)} wins over this.`));
  if (host) console.error(host.sentence);
  return EXIT.ok;
}

/** Names that are no settings too: nothing else would take them out. */
export async function unsetSetting({ home, output }: Place, typed: string): Promise<number> {
  const file = settingsPath(home);
  const isGroup = SETTINGS.some(({ name }) => name.startsWith(`${typed}.`));
  const strange = !isGroup && !isKnown(typed) && (await removeFromSettingsFile(file, typed));
  const name = strange ? typed : settingNamed(typed).row.name;
  const removed = strange || (await removeFromSettingsFile(file, name));
  const report = strange ? undefined : await reportAfter(typed, home);
  const host = removed ? runningHost(home) : undefined;
  if (output.json) output.data(JSON.stringify({ name, removed, file, now: report ?? null, host: host?.role ?? null }));
  else {
    const now = report ? ` It is ${report.value ?? "unset"} now (${originInWords(report.origin)}).` : "";
    output.say(clean(`${name} ${removed ? "was taken out of" : "is not in"} ${file}.${now}`));
  }
  if (host) console.error(host.sentence);
  return EXIT.ok;
}

const isKnown = (typed: string): boolean =>
  SETTINGS.some(({ name, environment }) => name === typed || environment.includes(typed));

/** Other things in the file may still be wrong: that is not what was asked. */
async function reportAfter(typed: string, home: Home) {
  const read = await readSettings({ home, env: process.env }).catch(() => undefined);
  return read && reportOn(settingNamed(typed).row, read);
}

// ---------------------------------------------------------------- what may be written

function keysAreNotKeptHere({ name, environment }: NamedRow, { envFile }: Home): GoaldError {
  return new GoaldError("GOALD_USAGE", `${name} is a key, and keys are not kept in goald.json.`, {
    hint: `Write this line into ${envFile} (and chmod 600 it), or set the variable in the environment:\n${environment[0]}=…`,
  });
}

const noValue = ({ expected, name }: NamedRow, typed: string, text: string): GoaldError =>
  new GoaldError(
    "GOALD_USAGE",
    `${typed} must be ${expected}, got ${text.trim() === "" ? "an empty text" : "a template's placeholder"}.`,
    { hint: `For the default: goald config unset ${name}` },
  );

/** The new value as if nothing stood above it, beside all others as they are. */
function requireRight({ found }: ReadSettings, given: Found): void {
  const { problems } = judge(new Map([...found, [given.row.name, given]]));
  const own = problems.filter(({ names }) => names.includes(given.row.name));
  if (own.length > 0) throw new GoaldError("GOALD_USAGE", own.map(({ sentence }) => sentence).join("\n"));
}

// ---------------------------------------------------------------- what it does not change

function winnerOver(row: NamedRow, { layers }: ReadSettings): Origin | null {
  const { origin } = findAll(row, layers).next().value as Found;
  return origin.layer === "environment" || origin.layer === ".env" ? origin : null;
}

const placeOf = ({ layer, name, file }: Origin): string => `${name} in ${layer === ".env" ? file : "the environment"}`;

interface RunningHost {
  readonly role: "daemon" | "foreground";
  readonly sentence: string;
}

function runningHost(home: Home): RunningHost | undefined {
  if (!isHostHeld(home.lock)) return undefined;
  const info = readHostInfo(home.lock);
  const process = info ? ` (process ${info.pid})` : "";
  return info?.role === "daemon"
    ? {
        role: "daemon",
        sentence: `The daemon${process} goes on with what it has read: the change takes effect with ${formatCall(home, "reload")}, or at its next start.`,
      }
    : {
        role: "foreground",
        sentence: `The goald run that is under way${process} goes on with what it has read: the change takes effect with the next one.`,
      };
}
