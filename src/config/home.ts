/**
 * home.ts -- finds the home that goald works in, and keeps the list of homes that a person trusts.
 *
 * A home's commands are code and its `.env` holds keys. A folder is therefore a home only when a person names it
 * (`--home`, GOALD_HOME), when goald runs from it, when it is `~/goald`, or when it is found above the current folder
 * and the person has trusted it once. Nothing inside an untrusted folder is read: only the existence and the owner of
 * its `.goald` are checked.
 */
import { lstat, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { GoaldError, toError } from "#core/errors.ts";
import { asRecord, parseJson } from "#util/json.ts";
import { readTextFile, replacePrivateFile, withFileLock } from "./private-file.ts";

/** All paths are absolute and need not exist yet. */
export type Home = ReturnType<typeof homeAt>;

export interface HomeSearch {
  /** Value of `--home`. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Root folder of the running goald. It is not a home when it is an installed package. */
  readonly checkout: string | undefined;
  readonly userHome: string;
  /** XDG_CONFIG_HOME. When it is unset or not absolute, `~/.config` is used, as its specification requires. */
  readonly configHome: string | undefined;
  readonly isTerminal: boolean;
  /** Asks the person; called only on a terminal. */
  readonly askTrust: (folder: string) => Promise<boolean>;
  /** Own user id; undefined on Windows, where owners are not compared. */
  readonly uid: number | undefined;
}

export const PRIVATE_FOLDER = ".goald";
export const WORKSPACE_FOLDER = "workspace";

/** Throws GOALD_USAGE for an invalid path, GOALD_HOME_UNTRUSTED for a found folder that is not trusted. */
export async function findHome(search: HomeSearch): Promise<Home> {
  const { flag, env, checkout, userHome } = search;
  if (flag !== undefined) return homeAt(namedFolder(flag, "--home", search), "--home");
  if (env.GOALD_HOME?.trim()) return homeAt(namedFolder(env.GOALD_HOME, "GOALD_HOME", search), "GOALD_HOME");
  if (checkout !== undefined && !isInstalled(checkout)) return homeAt(resolve(checkout), "checkout");
  const found = await nearestHome(search);
  if (found === undefined) return homeAt(join(userHome, "goald"), "default");
  await requireTrust(found, search);
  return homeAt(found, "found");
}

/** `chosenBy`: the reason for choosing this folder. */
function homeAt(root: string, chosenBy: "--home" | "GOALD_HOME" | "checkout" | "found" | "default") {
  const privateFolder = join(root, PRIVATE_FOLDER);
  return Object.freeze({
    root,
    chosenBy,
    workspaceFolder: join(root, WORKSPACE_FOLDER),
    configFolder: join(root, "config"),
    commandsFolder: join(root, "commands"),
    /** Python helpers for code of agents; a home need not have it. */
    methodsFolder: join(root, "methods"),
    promptsFolder: join(root, "prompts"),
    envFile: join(root, ".env"),
    /** Mode 0700. */
    privateFolder,
    database: join(privateFolder, "goald.db"),
    lock: join(privateFolder, "lock.db"),
    /** The socket of the local API. When this path is too long for one, daemon.json names another. */
    socket: join(privateFolder, "daemon.sock"),
    logFolder: join(privateFolder, "log"),
  });
}

function namedFolder(value: string, source: string, { cwd, userHome }: HomeSearch): string {
  const path = value.trim();
  if (path === "" || /\p{Cc}/u.test(path))
    throw new GoaldError(
      "GOALD_USAGE",
      `Expected ${source} to name a folder, got ${JSON.stringify(value)}. Give a path, such as ${source}${source.startsWith("-") ? " " : "="}~/goald.`,
    );
  // Where no shell expands the tilde, as in a service file, we do.
  if (path === "~" || path.startsWith("~/")) return join(userHome, path.slice(1));
  return resolve(cwd, path);
}

/** A package under node_modules is shared, and the next install replaces it with everything in it. */
const isInstalled = (checkout: string): boolean => checkout.split(/[\\/]/).includes("node_modules");

async function nearestHome({ cwd, uid }: HomeSearch): Promise<string | undefined> {
  // A removed current folder has no real path, and so no home above it.
  const start = await realpath(cwd).catch(() => undefined);
  for (let folder = start; folder !== undefined; folder = parentOf(folder))
    if (!isInWorkspace(folder) && (await holdsOwnHome(folder, uid))) return folder;
  return undefined;
}

const parentOf = (folder: string): string | undefined => (dirname(folder) === folder ? undefined : dirname(folder));

/** Agents write below `workspace/`, so a `.goald` there may be their work and would give them control of the next start. */
const isInWorkspace = (folder: string): boolean => folder.split(/[\\/]/).includes(WORKSPACE_FOLDER);

/** Skips other users' folders and links: anyone can make `/tmp/.goald`. */
async function holdsOwnHome(folder: string, uid: number | undefined): Promise<boolean> {
  for (const path of [folder, join(folder, PRIVATE_FOLDER)]) {
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isDirectory() || (uid !== undefined && found.uid !== uid)) return false;
  }
  return true;
}

async function requireTrust(folder: string, search: HomeSearch): Promise<void> {
  const { userHome, isTerminal, askTrust, uid } = search;
  const record = trustRecordOf(search);
  if (await isTrusted(record, folder, uid)) return;
  if (isTerminal && (await askTrust(folder))) return recordTrust(record, folder, uid);
  const how = isTerminal ? "you did not trust it" : "there is no terminal to ask you on";
  throw new GoaldError(
    "GOALD_HOME_UNTRUSTED",
    `${folder} holds a ${PRIVATE_FOLDER} folder, but it is not a trusted home and ${how}. Nothing in it was read.`,
    {
      hint: `If its commands and its .env are yours, name it: --home ${JSON.stringify(folder)}. For your own home instead: --home ${JSON.stringify(join(userHome, "goald"))}.`,
    },
  );
}

/**
 * The file that lists the homes that this person trusts. It is outside every home, so that no home can trust itself. It
 * holds real paths only: a link could be turned to another folder later. A list that others can write, or that cannot
 * be read, trusts nothing.
 */
export function trustRecordOf({ configHome, userHome }: Pick<HomeSearch, "configHome" | "userHome">): string {
  const configFolder = configHome && isAbsolute(configHome) ? configHome : join(userHome, ".config");
  return join(configFolder, "goald", "trusted.json");
}

const MAX_TRUST_BYTES = 1024 * 1024;

export async function isTrusted(record: string, folder: string, uid: number | undefined): Promise<boolean> {
  return (await readTrusted(record, uid)).includes(folder);
}

/** Throws GOALD_HOME_UNTRUSTED when the list cannot be written. */
export async function recordTrust(record: string, folder: string, uid: number | undefined): Promise<void> {
  try {
    await makeFolders(dirname(record), 0o700);
    await withFileLock(record, async () => {
      const trusted = await readTrusted(record, uid);
      if (trusted.includes(folder)) return;
      await replacePrivateFile(record, `${JSON.stringify({ trusted: [...trusted, folder] }, null, 2)}\n`);
    });
  } catch (cause) {
    throw new GoaldError(
      "GOALD_HOME_UNTRUSTED",
      `Your trust in ${folder} could not be recorded in ${record}: ${toError(cause).message}.`,
      { hint: `Make that file writable, or name the home: --home ${JSON.stringify(folder)}.`, cause },
    );
  }
}

async function readTrusted(record: string, uid: number | undefined): Promise<readonly string[]> {
  const file = await readTextFile(record, MAX_TRUST_BYTES).catch(() => undefined);
  if (!file || (uid !== undefined && (file.owner !== uid || (file.mode & 0o022) !== 0))) return [];
  const { trusted } = asRecord(parseJson(file.text));
  return Array.isArray(trusted) ? trusted.filter((folder) => typeof folder === "string") : [];
}

/**
 * `mode` applies to new folders only. Throws the system's error. It makes one level at a time, because Node 24's
 * recursive `mkdir` never returns where no folder can be made, as below /proc.
 */
export async function makeFolders(folder: string, mode: number): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder && !(await stat(parent).catch(() => undefined))) await makeFolders(parent, mode);
  await mkdir(folder, { mode }).catch(async (thrown: unknown) => {
    // Another process may have made it in the meantime.
    if (!(await isFolder(folder))) throw thrown;
  });
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
