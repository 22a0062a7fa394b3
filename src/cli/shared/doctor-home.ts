/**
 * doctor-home.ts -- checks owners and permissions of a home's folders and files for `goald doctor`.
 *
 * Anyone who can write commands controls goald. Anyone who can read `.goald` or `.env` has the keys and the log. Checks
 * change nothing; a repairable finding has a `repair`.
 */
import type { Stats } from "node:fs";
import { access, chmod, constants, lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { findOwnerFaults, type OwnerFault } from "#config/owners.ts";
import { settingsPath } from "#config/settings-file.ts";

export interface Finding {
  readonly check: string;
  readonly level: "ok" | "warning" | "error";
  readonly text: string;
  /** Advice for a person; empty when none is needed. */
  readonly advice: string;
  /** Repairs the problem; absent when only a person can. */
  readonly repair?: () => Promise<void>;
}

export const fine = (check: string, text: string): Finding => ({ check, level: "ok", text, advice: "" });
export const problem = (check: string, text: string, advice: string, repair?: Finding["repair"]): Finding => ({
  check,
  level: "error",
  text,
  advice,
  ...(repair ? { repair } : {}),
});
export const warning = (...given: Parameters<typeof problem>): Finding => ({ ...problem(...given), level: "warning" });

export async function checkHome(home: Home, uid: number | undefined): Promise<readonly Finding[]> {
  const { root, chosenBy } = home;
  const found = await look(root);
  if (!found) return [fine("home", `${root} (${chosenBy}) is not there yet; the first agent makes it`)];
  if (!found.isDirectory())
    return [problem("home", `${root} is not a folder`, "Name another home with --home FOLDER or GOALD_HOME.")];
  const isWritable = await access(root, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    return [problem("home", `${root} cannot be written by you`, "Make it writable, or name another home with --home.")];
  const faults = uid === undefined ? [] : await checkPermissions(home, uid);
  return [fine("home", `${root} (${chosenBy})`), ...faults, ...(faults.length === 0 ? [closed()] : [])];
}

const closed = (): Finding => fine("permissions", "nobody else can read what is private, or write what goald obeys");

async function checkPermissions(home: Home, uid: number): Promise<readonly Finding[]> {
  const { envFile, privateFolder, logFolder } = home;
  const secret = [envFile, settingsPath(home)];
  const findings = findOwnerFaults(home)
    .filter(({ path }) => !secret.includes(path) && path !== privateFolder)
    .map(describeFault);
  for (const path of secret)
    findings.push(...checkMode(path, await look(path), uid, 0o077, "can be read by others, and keys are kept there"));
  const own = await lstat(privateFolder).catch(() => undefined);
  if (own?.isSymbolicLink())
    return [...findings, problem("permissions", `${privateFolder} is a link`, "Put a real folder in its place.")];
  for (const path of [privateFolder, logFolder, ...(await filesIn(privateFolder)), ...(await filesIn(logFolder))])
    findings.push(...checkMode(path, await look(path), uid, 0o077, "is open to others"));
  return findings;
}

const describeFault = ({ path, reason, mend, mode }: OwnerFault): Finding =>
  mode === undefined
    ? problem("permissions", `${path} ${reason}`, `${mend}, or name another home.`)
    : problem("permissions", `${path} ${reason}`, `${mend}, or: goald doctor --fix`, () => chmod(path, mode));

/** `forbidden`: permission bits that must not be set. A missing file is valid. */
function checkMode(
  path: string,
  found: Stats | undefined,
  uid: number,
  forbidden: number,
  what: string,
): readonly Finding[] {
  if (!found) return [];
  if (found.uid !== uid)
    return [
      problem(
        "permissions",
        `${path} belongs to the user with id ${found.uid}, not to you (${uid})`,
        "Give it back to its owner: chown, or name another home.",
      ),
    ];
  const mode = found.mode & 0o7777;
  if ((mode & forbidden) === 0) return [];
  const better = mode & ~forbidden;
  const advice = `chmod ${better.toString(8)} ${JSON.stringify(path)}, or: goald doctor --fix`;
  return [problem("permissions", `${path} ${what} (mode ${mode.toString(8)})`, advice, () => chmod(path, better))];
}

/** Skips links, whose targets do not belong to goald. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() || entry.isSocket()).map(({ name }) => join(folder, name));
}

const look = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);
