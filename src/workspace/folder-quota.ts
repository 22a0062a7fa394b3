/**
 * folder-quota.ts -- limits the size of an agent's folder, which contains the folders of its sub-agents.
 *
 * The folder is counted once per process, at the first change; later changes by agents are added up. It is counted again before
 * a refusal and after a while, so that changes by a person count too.
 */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { GoaldError } from "#core/errors.ts";
import { subagentFolderOf } from "#core/subagent.ts";
import { MEBIBYTE } from "#core/text.ts";
import { keepNewest } from "#util/caches.ts";
import { quotePath } from "./path-rules.ts";

export interface FolderUsage {
  readonly bytes: number;
  readonly files: number;
  /** This counts the pages that `browse_website` keeps. */
  readonly pageBytes: number;
}

/** The most of each. */
export type FolderLimits = FolderUsage;

/** The bytes and files that a change adds; negative for those that it frees. */
export type Growth = Pick<FolderUsage, "bytes" | "files">;

/** Admits changes of one agent's files. */
export interface FolderQuota {
  /** Runs `act` when the growth is within the limits. Throws GOALD_QUOTA_EXCEEDED before it. */
  admit<T>(path: string, growth: Growth, act: () => Promise<T>): Promise<T>;
  /** Throws GOALD_QUOTA_EXCEEDED when nothing can be added. */
  requireRoom(path: string): Promise<void>;
  /** Throws GOALD_QUOTA_EXCEEDED when the history cannot take these further bytes. */
  requireHistory(path: string, bytes: number): Promise<void>;
}

export interface HistoryLimit {
  readonly bytes: number;
  storedBytes(): Promise<number>;
}

/** A count is repeated after this time. */
const STALE_MS = 600_000;
/** A count is kept for this many times the time that it took, also before a refusal. */
const KEPT_TIMES = 10;
const MAX_COUNTED = 256;

interface Count {
  usage: FolderUsage;
  countedAt: number;
  tookMs: number;
}
/** By folder, because all agents in it share one count. The newest is last. */
const counts = new Map<string, Promise<Count>>();

/** `root` is the counted folder; `prefix` is the agent's folder within it, empty or with a slash at its end. */
export function createFolderQuota(
  root: string,
  prefix: string,
  limits: FolderLimits,
  history?: HistoryLimit,
): FolderQuota {
  const admit: FolderQuota["admit"] = async (path, growth, act) => {
    const at = prefix + path;
    let count = await countOf(root, STALE_MS);
    if (problemOf(add(count.usage, at, growth), limits, growth)) count = await countOf(root, 0);
    const problem = problemOf(add(count.usage, at, growth), limits, growth);
    if (problem) throw exceeded(path, problem);
    count.usage = add(count.usage, at, growth);
    try {
      return await act();
    } catch (error) {
      count.usage = add(count.usage, at, { bytes: -growth.bytes, files: -growth.files });
      throw error;
    }
  };
  const requireRoom: FolderQuota["requireRoom"] = async (path) => {
    await admit(path, { bytes: 1, files: 1 }, async () => undefined);
    await admit(path, { bytes: -1, files: -1 }, async () => undefined);
  };
  const requireHistory: FolderQuota["requireHistory"] = async (path, bytes) => {
    const stored = history && bytes > 0 ? await history.storedBytes() : 0;
    if (history && stored + bytes > history.bytes)
      throw exceeded(
        path,
        `the history of its files has ${toMb(stored)} of ${toMb(history.bytes)} MB (quota.megabytes allows twice as much as in the folder)`,
        "delete_file still works. Only a person can raise the setting.",
      );
  };
  return { admit, requireRoom, requireHistory };
}

export const NO_QUOTA: FolderQuota = {
  admit: (_path, _growth, act) => act(),
  requireRoom: async () => undefined,
  requireHistory: async () => undefined,
};

/** Counts the folder if that was not done in this process. */
export const readFolderUsage = async (root: string): Promise<FolderUsage> => (await countOf(root, STALE_MS)).usage;

async function countOf(root: string, maxAgeMs: number): Promise<Count> {
  const latest = counts.get(root);
  const known = await latest;
  if (known && performance.now() - known.countedAt < Math.max(maxAgeMs, known.tookMs * KEPT_TIMES)) return known;
  const meanwhile = counts.get(root);
  if (meanwhile && meanwhile !== latest) return meanwhile;
  const counting = count(root);
  keepNewest(counts, root, counting, MAX_COUNTED);
  return counting;
}

async function count(root: string): Promise<Count> {
  const startedAt = performance.now();
  let pageBytes = 0;
  const size = await measureTree(root, (path, bytes) => {
    if (isKeptPage(path)) pageBytes += bytes;
  });
  const countedAt = performance.now();
  return { usage: { ...size, pageBytes }, countedAt, tookMs: countedAt - startedAt };
}

/**
 * Calls `found` for each file, and `entered` for each folder, with its path relative to `root`. Links are counted and not
 * followed.
 */
export async function measureTree(
  root: string,
  found: (path: string, bytes: number) => void = () => undefined,
  entered: (path: string) => void = () => undefined,
): Promise<Growth> {
  const folders = [""];
  let total = 0;
  let files = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    const parent = folder;
    await mapInBatches(entries, async (entry) => {
      const path = parent === "" ? entry.name : `${parent}/${entry.name}`;
      if (entry.isDirectory()) {
        folders.push(path);
        entered(path);
        return;
      }
      const bytes = (await lstat(join(root, path)).catch(() => undefined))?.size ?? 0;
      total += bytes;
      files++;
      found(path, bytes);
    });
  }
  return { bytes: total, files };
}

const BATCH = 32;

/** Calls `act` for each entry of a folder, some of them at a time. The results are in the order of the entries. */
export async function mapInBatches<Entry, Result>(
  entries: readonly Entry[],
  act: (entry: Entry) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < entries.length; start += BATCH)
    results.push(...(await Promise.all(entries.slice(start, start + BATCH).map(act))));
  return results;
}

function add(usage: FolderUsage, path: string, growth: Growth): FolderUsage {
  const pageBytes = usage.pageBytes + (isKeptPage(path) ? growth.bytes : 0);
  return { bytes: usage.bytes + growth.bytes, files: usage.files + growth.files, pageBytes };
}

const toMb = (bytes: number): number => Math.ceil(bytes / MEBIBYTE);

/** A change that frees room is never refused. */
function problemOf(after: FolderUsage, limits: FolderLimits, growth: Growth): string | undefined {
  const has = (used: number, unit: string, allowed: number, what: string, why: string): string =>
    `${what} has ${used} of ${allowed} ${unit} (${why})`;
  if (growth.bytes > 0 && after.bytes > limits.bytes)
    return has(toMb(after.bytes - growth.bytes), "MB", toMb(limits.bytes), "the folder", "quota.megabytes");
  if (growth.files > 0 && after.files > limits.files)
    return has(after.files - growth.files, "files", limits.files, "the folder", "no folder may have more");
  if (growth.bytes > 0 && after.pageBytes > limits.pageBytes)
    return has(
      toMb(after.pageBytes - growth.bytes),
      "MB",
      toMb(limits.pageBytes),
      "pages/",
      "a tenth of quota.megabytes",
    );
  return undefined;
}

const DELETE =
  "Delete what is no longer needed with delete_file; with `permanently` it also deletes a whole folder. A person can raise the setting.";

const exceeded = (path: string, problem: string, hint = DELETE): GoaldError =>
  new GoaldError("GOALD_QUOTA_EXCEEDED", `${quotePath(path)} was not written: ${problem}, sub-agents included.`, {
    hint,
  });

/** True for a page that an agent or a sub-agent keeps. `path` is relative to the counted folder. */
function isKeptPage(path: string): boolean {
  const folder = subagentFolderOf(path);
  return path.startsWith(folder === "" ? "pages/" : `${folder}/pages/`);
}
