/**
 * clone.ts -- repositories of strangers, brought into a folder: the newest commit of one branch, as plain files.
 *
 * First the objects come, checked as they come; then what lies in the tree is counted, and only what is small enough is
 * written out. Submodules stay away, links become files that hold where they led, large files kept elsewhere stay
 * pointers. What git may do at all is in git-guard.ts.
 */
import { GoaldError } from "#core/errors.ts";
import type { Cloned, Repositories } from "#core/services.ts";
import { type Quote, quoteWithout } from "#util/quote.ts";
import { explainGit, tooLarge, tooLong, tooMany } from "./git-errors.ts";
import { cloneArgs, type Guard, guardArgs, guardEnvironment } from "./git-guard.ts";
import { type GitEnd, runGit } from "./git-process.ts";
import { bytesBelow, createTally, type Tally } from "./measure.ts";
import { type AddressRules, pinAddress } from "./pin-address.ts";
import { type RepositoryUrl, readOrigins, readRepositoryUrl } from "./repository-url.ts";

export interface RepositoriesParts extends AddressRules {
  /** Absolute path of the program. */
  readonly git: string;
  /** Origins that may lie in a private network, with commas or blanks between. */
  readonly allow: string | null;
  /** For the one server that it is meant for. */
  readonly key: { readonly origin: string; readonly user: string; readonly token: string } | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<CloneLimits>;
}
export interface CloneLimits {
  /** Of all that lies in the folder at any time, and of the files to be written. */
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly timeoutMs: number;
}

const LIMITS: CloneLimits = { maxBytes: 512 * 1024 * 1024, maxFiles: 50_000, timeoutMs: 280_000 };
/** Older ones know no `http.curloptResolve`, and would ask for the address a second time. */
const OLDEST_GIT = [2, 37] as const;
const WATCH_MS = 200;

/** Runs git in one folder, under one guard. */
type Git = (args: readonly string[], onOutput?: (piece: Buffer) => void) => Promise<GitEnd>;

export function createRepositories(parts: RepositoriesParts): Repositories {
  const limits = { ...LIMITS, ...parts.limits };
  const quote = quoteWithout(parts.key?.token ?? "");
  let isNewEnough: Promise<void> | undefined;
  return {
    async clone(text, folder, signal) {
      const url = readRepositoryUrl(text, readOrigins(parts.allow));
      isNewEnough ??= requireVersion(parts);
      await isNewEnough.catch((error) => {
        isNewEnough = undefined;
        throw error;
      });
      const guard = { ...guardFor(url, parts), pinned: await pinAddress(url, parts) };
      signal.throwIfAborted();
      using watch = watchFolder(folder, limits, signal);
      const git: Git = (args, onOutput) =>
        runGit({
          git: parts.git,
          args: [...guardArgs(guard), ...args],
          folder,
          env: guardEnvironment(guard, parts.environment),
          signal: watch.signal,
          ...(onOutput ? { onOutput } : {}),
        });
      return await fill(url, git, { ...limits, stop: watch.stop }, quote);
    },
  };
}

async function fill(
  url: RepositoryUrl,
  git: Git,
  { maxFiles, maxBytes, stop }: CloneLimits & Pick<FolderWatch, "stop">,
  quote: Quote,
): Promise<Cloned> {
  const must = async (args: readonly string[], onOutput?: (piece: Buffer) => void): Promise<string> => {
    const end = await git(args, onOutput);
    if (end.code !== 0) throw explainGit(end, url, quote);
    return end.output;
  };
  await must(cloneArgs(url.href));
  const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  if (head.code !== 0) throw new GoaldError("GOALD_GIT", `${url.href} has no commit yet: there is nothing to clone.`);
  const branch = (await git(["symbolic-ref", "--quiet", "--short", "HEAD"])).output.trim();
  const { tally, add } = createTally();
  // Trees within trees can stand for more than could ever be counted.
  await must(["ls-tree", "-r", "-l", "-z", "--full-tree", "HEAD"], (piece) => {
    add(piece);
    if (tally.files + tally.submodules > maxFiles) stop(tooMany(maxFiles));
    else if (tally.bytes > maxBytes) stop(tooLarge(maxBytes));
  });
  await must(["checkout", "--quiet", "--force"]);
  const { files, bytes } = tally;
  const remarks = remarksOn(tally, tally.attributes > 0 ? await countPointers(git) : 0);
  return {
    url: url.href,
    commit: head.output.trim(),
    branch: branch === "" ? null : quote(branch),
    files,
    bytes,
    remarks,
  };
}

/** Files that their attributes give to LFS: what was checked out is what stands for them. */
async function countPointers(git: Git): Promise<number> {
  let count = 0;
  await git(["ls-files", "-z", "--", ":(attr:filter=lfs)"], (piece) => {
    for (const byte of piece) if (byte === 0) count++;
  });
  return count;
}

function remarksOn({ links, submodules }: Tally, pointers: number): readonly string[] {
  const said = (many: number, one: string, several: string): readonly string[] =>
    many === 0 ? [] : [many === 1 ? `1 ${one}.` : `${many} ${several}.`];
  return [
    ...said(
      links,
      "link became a plain file with the path it led to",
      "links became plain files with the path they led to",
    ),
    ...said(
      submodules,
      "submodule was left out: clone what you need of it by itself",
      "submodules were left out: clone what you need of them by themselves",
    ),
    ...said(
      pointers,
      "large file (LFS) was left out: a pointer stands in its place",
      "large files (LFS) were left out: pointers stand in their places",
    ),
  ];
}

function guardFor({ origin }: RepositoryUrl, { key }: RepositoriesParts): Omit<Guard, "pinned"> {
  const protocol = origin.startsWith("https:") ? "https" : "http";
  if (!key || URL.parse(key.origin)?.origin !== origin) return { protocol, authorization: undefined };
  const header = `Basic ${Buffer.from(`${key.user}:${key.token}`).toString("base64")}`;
  return { protocol, authorization: { origin, header } };
}

async function requireVersion({ git, environment }: RepositoriesParts): Promise<void> {
  const env = guardEnvironment({ protocol: "https", pinned: undefined, authorization: undefined }, environment);
  const signal = AbortSignal.timeout(10_000);
  const { output } = await runGit({ git, args: ["--version"], folder: "/", env, signal });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(output) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor);
  if (isOld || major === undefined)
    throw new GoaldError(
      "GOALD_GIT",
      `Expected git ${OLDEST_GIT.join(".")} or newer, found “${quoteWithout("")(output)}”.`,
      {
        hint: "Install a newer git: older ones cannot be held to an address that was checked.",
      },
    );
}

interface FolderWatch extends Disposable {
  /** Aborted with the caller's, when the time is up, and when the folder has become too large. */
  readonly signal: AbortSignal;
  /** Ends git, and with it the clone, for that reason. */
  readonly stop: (reason: GoaldError) => void;
}

function watchFolder(folder: string, { maxBytes, timeoutMs }: CloneLimits, outer: AbortSignal): FolderWatch {
  const controller = new AbortController();
  const end = setTimeout(() => controller.abort(tooLong(timeoutMs)), timeoutMs);
  let next: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    const startedAt = performance.now();
    // What cannot be looked at now can be a moment later.
    if ((await bytesBelow(folder).catch(() => 0)) > maxBytes) controller.abort(tooLarge(maxBytes));
    // A large folder takes long to look through: not more than a tenth of the time goes into it.
    if (!isOver) next = setTimeout(look, Math.max(WATCH_MS, 10 * (performance.now() - startedAt)));
  };
  next = setTimeout(look, WATCH_MS);
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    stop: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(end);
      clearTimeout(next);
    },
  };
}
