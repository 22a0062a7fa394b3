/**
 * clone.ts -- clones an untrusted repository into a folder: the newest commit of one branch, as plain files.
 *
 * Fetches and verifies the objects first, then counts the files of the tree, and checks out only a tree that is within
 * the limits. Skips submodules, writes links as plain files with their target, and keeps LFS files as pointers. git
 * runs in a cage (git-process.ts), and git-process.ts limits what it does there.
 */
import { lstat, mkdir, opendir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cage, CageLevel } from "#cage/cage.ts";
import { GoaldError } from "#core/errors.ts";
import type { Cloned, Repositories } from "#core/services.ts";
import type { Tunnel, TunnelTarget } from "#http/tunnel.ts";
import { type Quote, quoteWithout } from "#util/outside-errors.ts";
import {
  cloneArgs,
  cloneTookTooLong,
  explainGit,
  type GitEnd,
  type GitRoute,
  type GitRun,
  type Guard,
  guardArgs,
  guardEnvironment,
  isTooLargeFile,
  repositoryHasTooManyFiles,
  repositoryTooLarge,
  runGit,
} from "./git-process.ts";
import {
  type AddressRules,
  judgeAddresses,
  pinAddresses,
  type RepositoryUrl,
  readOrigins,
  readRepositoryUrl,
} from "./repository-url.ts";

export interface RepositoriesParts extends AddressRules {
  /** Absolute path of the git program. */
  readonly git: string;
  /** Origins that may be in a private network, separated by commas or blanks. */
  readonly allow: string | null;
  /** Credentials, sent to this origin only. */
  readonly key: { readonly origin: string; readonly user: string; readonly token: string } | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly findCage: () => Promise<Cage>;
  readonly openTunnel: (target: TunnelTarget) => Promise<Tunnel>;
  readonly limits?: Partial<CloneLimits>;
}

const CLONE_LIMITS: CloneLimits = { maxBytes: 512 * 1024 * 1024, maxFiles: 50_000, timeoutMs: 280_000 };
/** Older versions lack `http.curloptResolve`, and would resolve the name a second time. */
const OLDEST_GIT = [2, 37] as const;
/** git does not search for a repository: it uses the one in its working folder. */
const HERE = ["--git-dir=.git", "--work-tree=."] as const;

/** Runs git in one folder, with one guard and one cage. */
type GitRunner = (args: readonly string[], options?: GitOptions) => Promise<GitEnd>;
interface GitOptions extends Pick<GitRun, "onOutput" | "readOnly"> {
  readonly network?: GitRun["network"];
  readonly route?: GitRoute;
}

export function createRepositories(parts: RepositoriesParts): Repositories {
  const limits = { ...CLONE_LIMITS, ...parts.limits };
  const quote = quoteWithout(parts.key?.token ?? "");
  let isNewEnough: Promise<void> | undefined;
  return {
    async clone(text, folder, signal) {
      const url = readRepositoryUrl(text, readOrigins(parts.allow));
      const addresses = await judgeAddresses(url, parts);
      isNewEnough ??= requireVersion(parts);
      await isNewEnough.catch((error) => {
        isNewEnough = undefined;
        throw error;
      });
      const guard = createGuard(url, parts);
      const cage = await parts.findCage();
      signal.throwIfAborted();
      using watch = watchFolder(folder, limits, signal);
      const git: GitRunner = (args, { network = "none", route, ...options } = {}) =>
        runGit({
          cage,
          git: parts.git,
          args: [...guardArgs(guard, route), ...args],
          folder,
          env: guardEnvironment(guard, parts.environment),
          network,
          maxBytes: limits.maxBytes,
          signal: watch.signal,
          ...options,
        });
      const run = { url, folder, git, limits, stop: watch.stop, quote };
      await fetchRepository({ ...run, addresses, level: cage.level, openTunnel: parts.openTunnel });
      return await checkOut(run);
    },
  };
}

interface CloneRun {
  readonly url: RepositoryUrl;
  readonly folder: string;
  readonly git: GitRunner;
  readonly limits: CloneLimits;
  /** Ends git and the clone with this reason. */
  readonly stop: (reason: GoaldError) => void;
  readonly quote: Quote;
}
interface Fetch extends CloneRun, Pick<RepositoriesParts, "openTunnel"> {
  readonly addresses: readonly string[];
  readonly level: CageLevel;
}

/** In a strict cage, git has no network but a tunnel. Elsewhere it connects to the pinned addresses by itself. */
async function fetchRepository({ url, git, addresses, level, limits, stop, openTunnel, quote }: Fetch): Promise<void> {
  const args = cloneArgs(url.href);
  const { maxBytes } = limits;
  if (level === "strict") {
    const onExceeded = (): void => stop(repositoryTooLarge(maxBytes));
    await using tunnel = await openTunnel({ ...url, addresses, maxBytes, onExceeded });
    const route = { socket: tunnel.path };
    const end = await git(args, { network: "unix", route, readOnly: [tunnel.path] });
    if (end.code === 0) return;
    // Only a libcurl before 7.84 does not connect at all.
    if (tunnel.connections > 0) throw explainGit(end, url, quote);
  }
  const end = await git(args, { network: "host", route: { pinned: pinAddresses(url, addresses) } });
  if (end.code !== 0) throw isTooLargeFile(end) ? repositoryTooLarge(maxBytes) : explainGit(end, url, quote);
}

async function checkOut({ url, folder, git, limits, stop, quote }: CloneRun): Promise<Cloned> {
  const { maxFiles, maxBytes } = limits;
  const runOrThrow = async (args: readonly string[], options?: GitOptions): Promise<void> => {
    const end = await git([...HERE, ...args], options);
    if (end.code !== 0) throw explainGit(end, url, quote);
  };
  const head = await git([...HERE, "rev-parse", "HEAD^{commit}", "--abbrev-ref", "HEAD"]);
  if (head.code !== 0)
    throw new GoaldError("GOALD_GIT", `${url.href} is not a repository, or has no commit in its default branch.`);
  const [commit = "", branch = ""] = head.output.split("\n");
  const repository = { folder, href: url.href, commit };
  await prepareCheckout(repository);
  const { tally, add } = createTreeTally();
  // Nested trees can expand to any number of files, so stop git as soon as a limit is exceeded.
  const onOutput = (piece: Buffer): void => {
    add(piece);
    if (tally.files + tally.submodules > maxFiles) stop(repositoryHasTooManyFiles(maxFiles));
    else if (tally.bytes > maxBytes) stop(repositoryTooLarge(maxBytes));
  };
  await runOrThrow(["ls-tree", "-r", "-l", "-z", "--full-tree", "HEAD"], { onOutput });
  await runOrThrow(["checkout", "--quiet", "--force"]);
  await settleRepository(repository);
  const { files, bytes } = tally;
  const remarks = listOmissions(tally, tally.attributes > 0 ? await countPointers(git) : 0);
  if ((await measureFolderBytes(folder)) > maxBytes) throw repositoryTooLarge(maxBytes);
  return {
    url: url.href,
    commit,
    // git names a commit without a branch so.
    branch: branch === "HEAD" ? null : quote(branch),
    files,
    bytes,
    remarks,
  };
}

/** Counts the files whose attributes name LFS. Their checked-out content is a pointer. */
async function countPointers(git: GitRunner): Promise<number> {
  let count = 0;
  const onOutput = (piece: Buffer): void => {
    for (const byte of piece) if (byte === 0) count++;
  };
  await git([...HERE, "ls-files", "-z", "--", ":(attr:filter=lfs)"], { onOutput });
  return count;
}

function listOmissions({ links, submodules }: TreeTally, pointers: number): readonly string[] {
  const countOmitted = (many: number, one: string, several: string): readonly string[] =>
    many === 0 ? [] : [many === 1 ? `1 ${one}.` : `${many} ${several}.`];
  return [
    ...countOmitted(
      links,
      "link became a plain file with the path it led to",
      "links became plain files with the path they led to",
    ),
    ...countOmitted(
      submodules,
      "submodule was left out: clone what you need of it by itself",
      "submodules were left out: clone what you need of them by themselves",
    ),
    ...countOmitted(
      pointers,
      "large file (LFS) was left out: a pointer is in its place",
      "large files (LFS) were left out: pointers stand in their places",
    ),
  ];
}

function createGuard({ origin }: RepositoryUrl, { key }: RepositoriesParts): Guard {
  const protocol = origin.startsWith("https:") ? "https" : "http";
  if (!key || URL.parse(key.origin)?.origin !== origin) return { protocol, authorization: undefined };
  const header = `Basic ${Buffer.from(`${key.user}:${key.token}`).toString("base64")}`;
  return { protocol, authorization: { origin, header } };
}

async function requireVersion({ git, environment, findCage }: RepositoriesParts): Promise<void> {
  const env = guardEnvironment({ protocol: "https", authorization: undefined }, environment);
  const running = { cage: await findCage(), git, env, network: "none", maxBytes: 0 } as const;
  const signal = AbortSignal.timeout(10_000);
  const { output } = await runGit({ ...running, args: ["--version"], folder: undefined, signal });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(output) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor);
  if (isOld || major === undefined)
    throw new GoaldError(
      "GOALD_GIT",
      `Expected git ${OLDEST_GIT.join(".")} or newer, found “${quoteWithout("")(output)}”.`,
      { hint: "Install a newer git: older ones cannot be held to an address that was checked.", outside: [] },
    );
}

interface CloneLimits {
  /** Maximum size of the folder at any time, and of the files to check out. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly timeoutMs: number;
}

const WATCH_MS = 200;

function watchFolder(folder: string, { maxBytes, timeoutMs }: CloneLimits, outer: AbortSignal) {
  const controller = new AbortController();
  const timeout = setTimeout(() => controller.abort(cloneTookTooLong(timeoutMs)), timeoutMs);
  let next: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const measureFolder = async (): Promise<void> => {
    const startedAt = performance.now();
    // A folder that cannot be read now is measured again at the next check.
    if ((await measureFolderBytes(folder).catch(() => 0)) > maxBytes) controller.abort(repositoryTooLarge(maxBytes));
    // Measuring a large folder is slow: spend at most a tenth of the time on it.
    if (!isOver) next = setTimeout(measureFolder, Math.max(WATCH_MS, 10 * (performance.now() - startedAt)));
  };
  next = setTimeout(measureFolder, WATCH_MS);
  return {
    /** Aborts with the caller's signal, at the timeout, and when the folder exceeds its limit. */
    signal: AbortSignal.any([outer, controller.signal]),
    stop: (reason: GoaldError): void => controller.abort(reason),
    [Symbol.dispose]: (): void => {
      isOver = true;
      clearTimeout(timeout);
      clearTimeout(next);
    },
  };
}

/**
 * Returns the bytes of all files below a folder that is being filled. Follows no links; a file that vanishes meanwhile
 * counts 0.
 */
async function measureFolderBytes(folder: string): Promise<number> {
  let bytes = 0;
  const ahead = [folder];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (!entries) continue;
    for await (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) ahead.push(path);
      else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
    }
  }
  return bytes;
}

type TreeTally = ReturnType<typeof createTreeTally>["tally"];

/** Maximum of an incomplete entry: git does not limit the length of a name. */
const MAX_ENTRY_BYTES = 64 * 1024;

/**
 * Counts the output of `ls-tree -r -l -z`, piece by piece. A few bytes of a repository can expand to any number of
 * bytes and files, so a tree is counted before any file is written.
 */
export function createTreeTally() {
  /** `attributes`: number of .gitattributes files. Without one, no file can be in LFS. */
  const tally = { files: 0, bytes: 0, links: 0, submodules: 0, attributes: 0 };
  let rest = Buffer.alloc(0);
  return {
    tally,
    add: (piece: Buffer): void => {
      const all = Buffer.concat([rest, piece]);
      let start = 0;
      for (let end = all.indexOf(0); end >= 0; end = all.indexOf(0, start)) {
        countEntry(all.toString("latin1", start, end), tally);
        start = end + 1;
      }
      rest = Buffer.from(all.subarray(start, start + MAX_ENTRY_BYTES));
    },
  };
}

/** `100644 blob <hash>    1234\tpath` */
function countEntry(entry: string, tally: TreeTally): void {
  const [, mode, size, path] = /^(\d{6}) \w+ [0-9a-f]+ +(-|\d+)\t(.*)$/s.exec(entry) ?? [];
  if (mode === "160000") tally.submodules++;
  else tally.files++;
  if (mode === "120000") tally.links++;
  tally.bytes += Number(size === "-" ? 0 : size) || 0;
  if (path !== undefined && /(?:^|\/)\.gitattributes$/.test(path)) tally.attributes++;
}

/** These come before the attributes of the repository: no filter, no identifier to fill in, no text conversion. */
const PLAIN_ATTRIBUTES = "* -filter -ident -text !eol !working-tree-encoding\n";
/** The entries of `.git` that git needs to read a clone, without settings. All others, such as hooks and logs, are removed. */
const KEPT = /^(?:HEAD|index|objects|packed-refs|refs|shallow)$/;
const KEPT_OBJECTS = /^(?:pack|[0-9a-f]{2})$/;
const KEPT_PACKS = /^pack-[0-9a-f]+\.(?:pack|idx|rev)$/;
const SHA256_HEX_CHARS = 64;

/** A clone and its newest commit, as a full hash. */
export interface OwnedRepository {
  readonly folder: string;
  readonly href: string;
  readonly commit: string;
}

/** Sets up `.git` for a checkout that converts nothing. */
async function prepareCheckout(repository: OwnedRepository): Promise<void> {
  await settleRepository(repository);
  const info = join(repository.folder, ".git", "info");
  await mkdir(info);
  await writeNew(join(info, "attributes"), PLAIN_ATTRIBUTES);
}

/**
 * Removes all files of `.git` that a finished clone does not need, and replaces what git reads there as settings with
 * settings of goald's own. git is not running meanwhile. Still nothing is written through a link: each file is removed
 * first and created anew.
 */
async function settleRepository(repository: OwnedRepository): Promise<void> {
  const git = join(repository.folder, ".git");
  for (const name of [".", "objects", "objects/pack"]) await requireFolder(join(git, name));
  await removeExcept(git, KEPT);
  await removeExcept(join(git, "objects"), KEPT_OBJECTS);
  await removeExcept(join(git, "objects", "pack"), KEPT_PACKS);
  await writeNew(join(git, "config"), formatConfig(repository));
}

/** The address has no character that a quoted value would need to escape; see repository-url.ts. */
function formatConfig({ href, commit }: OwnedRepository): string {
  const isSha256 = commit.length === SHA256_HEX_CHARS;
  return [
    "[core]",
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    "\tfilemode = true",
    "\tbare = false",
    "\tsymlinks = false",
    ...(isSha256 ? ["[extensions]", "\tobjectformat = sha256"] : []),
    '[remote "origin"]',
    `\turl = "${href}"`,
    "\tfetch = +refs/heads/*:refs/remotes/origin/*",
    "",
  ].join("\n");
}

async function requireFolder(path: string): Promise<void> {
  if ((await lstat(path).catch(() => undefined))?.isDirectory()) return;
  throw new GoaldError("GOALD_GIT", "git left no repository as it should be. Nothing of it was kept.");
}

async function removeExcept(folder: string, kept: RegExp): Promise<void> {
  for (const name of await readdir(folder))
    if (!kept.test(name)) await rm(join(folder, name), { recursive: true, force: true });
}

const writeNew = (path: string, text: string): Promise<void> => writeFile(path, text, { flag: "wx", mode: 0o644 });
