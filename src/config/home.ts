/**
 * home.ts -- which folder goald works in, and that it may.
 *
 * A home's commands are code and its `.env` holds keys, so a folder is a home only when a
 * person named it (`--home`, GOALD_HOME), when goald itself runs from it, when it is `~/goald`, or when
 * it was found upward from the current folder and the person has trusted it once. Of a folder
 * that is not trusted nothing is read: whether `.goald` lies in it, and whose that is, is all that is looked at.
 */
import { lstat, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { isTrusted, recordTrust } from "./trust.ts";

/** Absolute paths; nothing needs to exist yet. */
export interface Home {
  readonly root: string;
  /** Why this folder and no other. */
  readonly chosenBy: "--home" | "GOALD_HOME" | "checkout" | "found" | "default";
  readonly workspaceFolder: string;
  readonly configFolder: string;
  readonly commandsFolder: string;
  readonly promptsFolder: string;
  readonly envFile: string;
  /** `.goald`: goald's own, 0700. */
  readonly privateFolder: string;
  readonly database: string;
  readonly lock: string;
  /** Unix socket of the local API; where its path would be too long for one, it lies elsewhere (daemon.json says where). */
  readonly socket: string;
  readonly logFolder: string;
}

export interface HomeSearch {
  /** Value of `--home`. */
  readonly flag?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Root folder of the goald that runs; not a home when it is an installed package. */
  readonly checkout: string | undefined;
  readonly userHome: string;
  /** XDG_CONFIG_HOME; `~/.config` when it is unset or not absolute, as its specification says. */
  readonly configHome: string | undefined;
  readonly isTerminal: boolean;
  /** Asks the person, on a terminal only. */
  readonly askTrust: (folder: string) => Promise<boolean>;
  /** Own user id; undefined where there is none (Windows), and owners are not compared then. */
  readonly uid: number | undefined;
}

export const PRIVATE_FOLDER = ".goald";
export const WORKSPACE_FOLDER = "workspace";

/** Throws GOALD_USAGE for a path that cannot be one, GOALD_HOME_UNTRUSTED for a found folder that is not trusted. */
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

function homeAt(root: string, chosenBy: Home["chosenBy"]): Home {
  const privateFolder = join(root, PRIVATE_FOLDER);
  return Object.freeze({
    root,
    chosenBy,
    workspaceFolder: join(root, WORKSPACE_FOLDER),
    configFolder: join(root, "config"),
    commandsFolder: join(root, "commands"),
    promptsFolder: join(root, "prompts"),
    envFile: join(root, ".env"),
    privateFolder,
    database: join(privateFolder, "goald.db"),
    lock: join(privateFolder, "lock.db"),
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
  // Without a shell in between, as in a service file, nobody else expands the tilde.
  if (path === "~" || path.startsWith("~/")) return join(userHome, path.slice(1));
  return resolve(cwd, path);
}

/** A package under node_modules is shared and replaced at the next install: no place for agents. */
const isInstalled = (checkout: string): boolean => checkout.split(/[\\/]/).includes("node_modules");

// ---------------------------------------------------------------- the nearest home upward

async function nearestHome({ cwd, uid }: HomeSearch): Promise<string | undefined> {
  // A current folder that was removed has no real path, and nothing can lie above it for us.
  const start = await realpath(cwd).catch(() => undefined);
  for (let folder = start; folder !== undefined; folder = parentOf(folder))
    if (!isInWorkspace(folder) && (await holdsOwnHome(folder, uid))) return folder;
  return undefined;
}

const parentOf = (folder: string): string | undefined => (dirname(folder) === folder ? undefined : dirname(folder));

/** Agents write below `workspace/`: a `.goald` in there may be theirs, and would hand them the next start. */
const isInWorkspace = (folder: string): boolean => folder.split(/[\\/]/).includes(WORKSPACE_FOLDER);

/** Somebody else's folder, or a link in its place, is passed over: anyone may make `/tmp/.goald`. */
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

/** The file of the homes that this person has trusted. */
export function trustRecordOf({ configHome, userHome }: Pick<HomeSearch, "configHome" | "userHome">): string {
  const configFolder = configHome && isAbsolute(configHome) ? configHome : join(userHome, ".config");
  return join(configFolder, "goald", "trusted.json");
}
