/**
 * doctor-home.ts -- what `goald doctor` checks of a home: its files, their owners and permissions, and its daemon.
 * Anyone who can write commands controls goald. Anyone who can read `.goald` or `.env` has the keys and the log. Checks
 * change nothing; a repairable finding has a `repair`.
 */
import { lstatSync, readFileSync, rmSync, type Stats } from "node:fs";
import { access, chmod, constants, lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isDaemonMissing, readHostInfo } from "#api/daemon-files.ts";
import { askDaemon, checkVersion, type DaemonAnswer, silentDaemon } from "#api/find-daemon.ts";
import { outputFileOf } from "#api/spawn-daemon.ts";
import { lockHome } from "#app/own-store.ts";
import type { Home } from "#config/home.ts";
import { isSocketOf } from "#config/open-home.ts";
import { findOwnerFaults, type OwnerFault } from "#config/owners.ts";
import { SETTINGS } from "#config/settings.ts";
import { settingsPath } from "#config/settings-file.ts";
import { isGoaldError, orUndefined, toError } from "#core/errors.ts";
import { readVersion } from "../shipped.ts";
import { formatCall } from "./context.ts";

const PATIENCE_MS = 5_000;
const MAX_LINE_CHARS = 300;

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

export const failure = (check: string, thrown: unknown): Finding =>
  problem(check, toError(thrown).message, isGoaldError(thrown) ? thrown.hint : "");

export async function checkHome(home: Home, uid: number | undefined): Promise<readonly Finding[]> {
  const { root, chosenBy } = home;
  const found = await look(root);
  if (!found) return [fine("home", `${root} (${chosenBy}) is not there yet; the first agent makes it`)];
  if (!found.isDirectory())
    return [problem("home", `${root} is not a folder`, "Name another home with --home FOLDER or GOALD_HOME.")];
  for (const folder of [root, home.workspaceFolder]) {
    const mode = constants.R_OK | constants.W_OK | constants.X_OK;
    const refused = (await look(folder)) && (await access(folder, mode).catch(toError));
    const what = `${folder} is not a folder that you may write to`;
    if (refused) return [problem("home", what, "Make it writable, or name another home with --home.")];
  }
  const faults = uid === undefined ? [] : await checkPermissions(home, uid);
  return [fine("home", `${root} (${chosenBy})`), ...faults, ...(faults.length === 0 ? [CLOSED] : [])];
}

const CLOSED = fine("permissions", "nobody else can read what is private, or write what goald obeys");

async function checkPermissions(home: Home, uid: number): Promise<readonly Finding[]> {
  const { envFile, privateFolder, logFolder } = home;
  const secret = [envFile, settingsPath(home)];
  const findings = findOwnerFaults(home)
    .filter(({ path }) => !secret.includes(path) && path !== privateFolder)
    .map(describeFault);
  for (const path of secret)
    findings.push(...checkMode(path, await look(path), uid, "can be read by others, and keys are kept there"));
  const own = await lstat(privateFolder).catch(() => undefined);
  if (own?.isSymbolicLink())
    return [...findings, problem("permissions", `${privateFolder} is a link`, "Put a real folder in its place.")];
  for (const path of [privateFolder, logFolder, ...(await filesIn(privateFolder)), ...(await filesIn(logFolder))])
    findings.push(...checkMode(path, await look(path), uid, "is open to others"));
  return findings;
}

const describeFault = ({ path, reason, mend, mode }: OwnerFault): Finding =>
  mode === undefined
    ? problem("permissions", `${path} ${reason}`, `${mend}, or name another home.`)
    : problem("permissions", `${path} ${reason}`, `${mend}, or: goald doctor --fix`, () => chmod(path, mode));

/** A missing file is valid. */
function checkMode(path: string, found: Stats | undefined, uid: number, what: string): readonly Finding[] {
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
  const better = mode & ~0o077;
  if (better === mode) return [];
  const advice = `chmod ${better.toString(8)} ${JSON.stringify(path)}, or: goald doctor --fix`;
  return [problem("permissions", `${path} ${what} (mode ${mode.toString(8)})`, advice, () => chmod(path, better))];
}

/** Skips links, whose targets do not belong to goald. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() || entry.isSocket()).map(({ name }) => join(folder, name));
}

const look = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

export async function checkDaemon(home: Home): Promise<readonly Finding[]> {
  try {
    const met = await askDaemon(home, PATIENCE_MS);
    switch (met.kind) {
      case "host":
        return [...checkHost(met), ...checkEnvironment(met.status.pid, home)];
      case "mute":
        return [checkMute(met)];
      case "nobody":
        return [checkAbsent(home), ...checkRemains(home)];
    }
  } catch (thrown) {
    const { message } = toError(thrown);
    return [
      problem("daemon", `it answers with an error: ${message}`, `Start it again: ${formatCall(home, "restart")}`),
    ];
  }
}

function checkHost({ status }: Extract<DaemonAnswer, { kind: "host" }>): readonly Finding[] {
  const findings: Finding[] = [];
  const { pid, version, stopping } = status;
  const what = `runs (pid ${pid}, goald ${version})`;
  try {
    checkVersion(status, { version: readVersion(), tell: (text) => findings.push(warning("daemon", text, "")) });
    findings.unshift(fine("daemon", stopping ? `${what}, and is going down` : what));
  } catch (thrown) {
    findings.unshift(problem("daemon", toError(thrown).message, "Put this one in its place: goald restart"));
  }
  for (const text of status.problems)
    findings.push(warning("daemon", text, "Its log says more: the folder .goald/log"));
  return findings;
}

/** Finds variables of this shell that the daemon does not have with the same value. Shows names, never values. */
function checkEnvironment(pid: number, home: Home): readonly Finding[] {
  const there = environmentOf(pid);
  if (!there) return [];
  const names = new Set(SETTINGS.flatMap(({ environment }) => environment));
  const differing = [...names].filter((name) => process.env[name] && process.env[name] !== there.get(name));
  if (differing.length === 0) return [];
  return [
    warning(
      "environment",
      `the daemon was started without these variables of this shell, or with others: ${differing.join(", ")}`,
      `What is in ${home.envFile} holds everywhere; or start the daemon from here: ${formatCall(home, "restart")}`,
    ),
  ];
}

function environmentOf(pid: number): ReadonlyMap<string, string> | undefined {
  const lines = orUndefined(() => readFileSync(`/proc/${pid}/environ`, "utf8"))?.split("\0");
  return lines && new Map(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

function checkMute(met: Extract<DaemonAnswer, { kind: "mute" }>): Finding {
  const { message, hint } = silentDaemon(met);
  return met.info?.socket !== undefined ? problem("daemon", message, hint) : warning("daemon", message, hint);
}

function checkAbsent(home: Home): Finding {
  if (!isDaemonMissing(home)) return fine("daemon", "not running; what needs it starts it");
  const last = lastWords(home);
  return problem(
    "daemon",
    `not running, though \`goald down\` did not end it${last ? `. Its last words: ${last}` : ""}`,
    `Its agents go on where they stand: ${formatCall(home, "up")}`,
  );
}

/** Returns the last line that was printed since the daemon's start, which may contain an error of goald or Node. */
function lastWords(home: Home): string {
  const printedAt = orUndefined(() => lstatSync(outputFileOf(home)))?.mtime.toISOString() ?? "";
  if (printedAt < (readHostInfo(home.lock)?.startedAt ?? "")) return "";
  const text = orUndefined(() => readFileSync(outputFileOf(home), "utf8")) ?? "";
  return (text.trim().split("\n").at(-1) ?? "").slice(0, MAX_LINE_CHARS);
}

/** Finds sockets that a killed host left. The next host removes them. */
function checkRemains(home: Home): readonly Finding[] {
  const told = readHostInfo(home.lock)?.socket;
  const places = [...new Set([home.socket, ...(typeof told === "string" && isSocketOf(home, told) ? [told] : [])])];
  const left = places.filter((path) => orUndefined(() => lstatSync(path))?.isSocket());
  return left.map((path) =>
    warning(
      "socket",
      `${path} was left by a host that was killed`,
      "The next start removes it, and so does: goald doctor --fix",
      async () => removeUnderLock(home, path),
    ),
  );
}

/** Takes the lock, which proves that no host listens at the socket. */
function removeUnderLock(home: Home, socket: string): void {
  using _lock = lockHome(home);
  rmSync(socket, { force: true });
}
