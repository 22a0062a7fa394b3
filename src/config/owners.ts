/**
 * owners.ts -- refuses a home whose programs, prompts, settings or keys another user owns or may write. The rule is
 * that of ssh for its own files. Owner: this user or root. Writable by: the owner, and a group that has this user as
 * its only member. Folders above the home are not judged.
 */
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { GoaldError, orUndefined } from "#core/errors.ts";
import type { Home } from "./home.ts";
import { settingsPath } from "./settings-file.ts";

export interface OwnerFault {
  readonly path: string;
  /** The fault, as the end of a sentence that begins with the path. */
  readonly reason: string;
  /** Shell command that mends it. */
  readonly mend: string;
  /** The mode that mends it; absent for a wrong owner. */
  readonly mode?: number;
}

const WRITABLE = 0o022;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;
/** A larger folder is not judged to its end: judging would delay every call. */
const MAX_ENTRIES = 1_000;
const MAX_SHOWN = 5;

/** Throws GOALD_HOME_UNTRUSTED with the calls that mend it. A home that is missing or a file is accepted. */
export const requireOwned = (home: Home): void => refuseFaults(findOwnerFaults(home), home.root);

/** The same for one file that is about to be loaded. */
export const requireOwnedFile = (path: string): void => refuseFaults(judgePath(path), path);

export function findOwnerFaults(home: Home): readonly OwnerFault[] {
  const { root, privateFolder, configFolder, envFile, commandsFolder, methodsFolder, promptsFolder } = home;
  if (!orUndefined(() => statSync(root))?.isDirectory()) return [];
  const single = [root, privateFolder, configFolder, envFile, settingsPath(home), join(configFolder, "prices.json")];
  return [...single, ...[commandsFolder, methodsFolder, promptsFolder].flatMap(listBelow)].flatMap(judgePath);
}

function refuseFaults(faults: readonly OwnerFault[], what: string): void {
  if (faults.length === 0) return;
  const shown = faults.slice(0, MAX_SHOWN);
  const left = faults.length - shown.length;
  const more = left > 0 ? [`and ${left} more: goald doctor`] : [];
  const sentences = shown.map(({ path, reason }) => `${path} ${reason}.`).join("\n");
  throw new GoaldError(
    "GOALD_HOME_UNTRUSTED",
    `${what} is not used, because others could change what goald does.\n${sentences}`,
    {
      hint: [
        "If you trust what is in it now, mend it. Otherwise name another home with --home FOLDER.",
        ...shown.map(({ mend }) => mend),
        ...more,
      ].join("\n"),
    },
  );
}

/** The folder itself and what is in it: commands import files of their own. */
function listBelow(folder: string): readonly string[] {
  const found = [folder];
  for (let next = 0; next < found.length && found.length < MAX_ENTRIES; next++) {
    const path = found[next] as string;
    if (next > 0 && !orUndefined(() => lstatSync(path))?.isDirectory()) continue;
    const names = orUndefined(() => readdirSync(path)) ?? [];
    found.push(...names.map((name) => join(path, name)));
  }
  return found.slice(0, MAX_ENTRIES);
}

/** Judges a link too, what it leads to, and the folder in which that is. A missing file has no fault. */
function judgePath(path: string): readonly OwnerFault[] {
  const own = orUndefined(() => lstatSync(path));
  if (!own?.isSymbolicLink()) return own ? judge(path, own) : [];
  const target = orUndefined(() => statSync(path));
  if (!target) return judgeOwner(path, own);
  const real = realpathSync(path);
  const folder = orUndefined(() => statSync(dirname(real)));
  const ofFolder = folder && (folder.mode & STICKY) === 0 ? judge(dirname(real), folder) : [];
  return [...judgeOwner(path, own), ...judge(real, target), ...ofFolder];
}

const judge = (path: string, found: Stats): readonly OwnerFault[] => [
  ...judgeOwner(path, found),
  ...judgeMode(path, found),
];

function judgeOwner(path: string, { uid }: Stats): readonly OwnerFault[] {
  const own = process.getuid?.();
  if (own === undefined || uid === own || uid === 0) return [];
  const reason = `belongs to the user with id ${uid}, not to you (${own})`;
  return [{ path, reason, mend: `chown -h ${own} ${quote(path)}` }];
}

function judgeMode(path: string, { mode, gid }: Stats): readonly OwnerFault[] {
  if (process.getuid === undefined) return [];
  const permissions = mode & 0o7777;
  if ((permissions & WRITABLE) === 0) return [];
  if ((permissions & WRITABLE_BY_ALL) === 0 && isPrivateGroup(gid)) return [];
  const reason = `can be written by others (mode ${permissions.toString(8)})`;
  return [{ path, reason, mend: `chmod go-w ${quote(path)}`, mode: permissions & ~WRITABLE }];
}

const quote = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;

let isShared: boolean | undefined;

/** Some systems give each user a group of the same number, and umask 002 with it. */
function isPrivateGroup(gid: number): boolean {
  if (gid !== process.getgid?.() || gid !== process.getuid?.()) return false;
  isShared ??= hasOtherMembers(gid, readTable("/etc/passwd"), readTable("/etc/group"));
  return !isShared;
}

type Table = readonly (readonly string[])[];

/** Whether a user's own group is the first group of another user in `passwd`, or has one as a member in `group`. */
export function hasOtherMembers(gid: number, passwd: Table, group: Table): boolean {
  const users = passwd.filter(([, , , first]) => first === String(gid));
  const members = group.filter(([, , id]) => id === String(gid)).flatMap(([, , , names = ""]) => names.split(","));
  const own = users.find(([, , id]) => id === String(gid))?.[0];
  return users.some(([, , id]) => id !== String(gid)) || members.some((name) => name !== "" && name !== own);
}

function readTable(path: string): Table {
  const text = orUndefined(() => readFileSync(path, "utf8")) ?? "";
  return text.split("\n").map((line) => line.split(":"));
}
