/**
 * restore-folders.ts -- plans what a restoration does with folders that came as a whole, such as clones. Changes nothing.
 *
 * The history has no content of such a folder. A restoration moves the whole folder aside, and back, so the folder of one
 * `place` is either in the workspace, set aside, or lost because the agent deleted it.
 */
import { hash } from "node:crypto";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type OutsideSource, outsideOf } from "#core/provenance.ts";
import type { RestoreTarget } from "./restore-target.ts";
import { holdsFileContent, isPutBack, placingCallOf } from "./restore-version.ts";

export interface PlannedFolder {
  readonly path: string;
  /**
   * `place`: it comes back. `take-away`: it is moved aside. `keep`: it is as it was. `cannot`: it is not as it was, and
   * stays so.
   */
  readonly action: "place" | "take-away" | "keep" | "cannot";
  /** Why it cannot be restored; empty otherwise. */
  readonly reason: string;
  /** The call that placed it. */
  readonly placedBy: string;
  /** `key` of the port SetAside. */
  readonly key: string;
  /** The place where the folder is kept; null for one that is not set aside. */
  readonly kept: string | null;
  readonly outside?: readonly OutsideSource[];
  /** The folder is in the workspace now. */
  readonly isHere: boolean;
  /** The folder is in the workspace afterwards. */
  readonly stays: boolean;
  /** The history does not have this change yet. */
  readonly isNew: boolean;
}

export interface FolderParts {
  readonly row: Pick<AgentRow, "id" | "createdAt">;
  readonly aside: Pick<SetAside, "canMove" | "kindOf" | "find">;
  readonly workspace: Pick<Workspace, "list">;
}

/** Sorted by path; a folder that goes comes before the one that takes its place. */
export async function planFolders(
  versions: readonly FileVersion[],
  target: RestoreTarget,
  parts: FolderParts,
): Promise<readonly PlannedFolder[]> {
  const paths = new Set(versions.filter(({ operation }) => operation === "place").map(({ path }) => path));
  const plan: PlannedFolder[] = [];
  for (const path of [...paths].filter(target.covers).sort()) {
    const own = versions.filter((version) => version.path === path);
    plan.push(...(await planFolder(path, own, versions, target, parts)));
  }
  return plan;
}

/** The history of the folders that were placed at one path. */
interface Placed {
  /** The call that placed the folder that is there; null for none. */
  readonly current: string | null;
  /** Folders that the agent has not deleted, in the order of their placing. */
  readonly alive: ReadonlySet<string>;
  /** Sources of the words in each. */
  readonly outside: ReadonlyMap<string, readonly OutsideSource[]>;
}

function foldPlaced(versions: readonly FileVersion[]): Placed {
  let current: string | null = null;
  const alive = new Set<string>();
  const outside = new Map<string, readonly OutsideSource[]>();
  for (const version of versions) {
    if (version.operation === "place") {
      current = placingCallOf(version);
      alive.add(current);
    }
    if (current !== null && (version.operation === "place" || version.operation === "trust"))
      outside.set(current, version.outside ?? []);
    if (version.operation !== "delete") continue;
    if (current !== null && !isPutBack(version)) alive.delete(current);
    current = null;
  }
  return { current, alive, outside };
}

/** A hash, because the path may be longer than a name. The time of creation tells agents apart that had the same id. */
const keyOf = ({ id, createdAt }: FolderParts["row"], path: string, placedBy: string): string =>
  hash("sha256", [id, createdAt, path, placedBy].join("\0"), "hex").slice(0, 32);

async function planFolder(
  path: string,
  own: readonly FileVersion[],
  versions: readonly FileVersion[],
  { kept }: RestoreTarget,
  parts: FolderParts,
): Promise<readonly PlannedFolder[]> {
  const now = foldPlaced(own);
  const then = foldPlaced(own.filter((version) => kept.has(version)));
  const key = (placedBy: string): string => keyOf(parts.row, path, placedBy);
  const found = new Map(
    await Promise.all([...now.alive].map(async (call) => [call, await parts.aside.find(key(call))] as const)),
  );
  const kind = await parts.aside.kindOf(path);
  const isHere = (call: string): boolean => now.alive.has(call) && found.get(call) === undefined;
  // After a crash the folder may still be here although the history says that it was taken away.
  const here = kind !== "folder" ? undefined : [...now.alive, ...(now.current ? [now.current] : [])].findLast(isHere);
  const wanted = then.current;
  const describe = (placedBy: string, action: PlannedFolder["action"], reason = ""): PlannedFolder => {
    const aside = found.get(placedBy);
    const isHere = placedBy === here;
    const stays = action === "place" || (action !== "take-away" && isHere);
    const isNew = action !== "cannot" && stays !== (placedBy === now.current);
    return {
      ...{ path, action, reason, placedBy, key: key(placedBy), isHere, stays, isNew },
      kept: aside?.state === "kept" ? aside.folder : null,
      ...outsideOf(now.outside.get(placedBy) ?? []),
    };
  };
  if (here !== undefined && here === wanted) return [describe(here, "keep")];
  const canMove = await parts.aside.canMove();
  if (here !== undefined && !canMove) return [describe(here, "cannot", OTHER_FILE_SYSTEM)];
  const leaving = here === undefined ? [] : [describe(here, "take-away")];
  // The history may say that a folder is here which a crash left aside, or which a person removed.
  if (wanted === null) return here === undefined && now.current !== null ? [describe(now.current, "keep")] : leaving;
  const reason = canMove ? await refusePutBack(wanted, now, found.get(wanted)?.state) : OTHER_FILE_SYSTEM;
  const inWay = here === undefined && (await isInWay(path, kind, versions, parts));
  const refusal = reason ?? (inWay ? IN_WAY : "");
  return [...leaving, describe(wanted, refusal === "" ? "place" : "cannot", refusal)];
}

const OTHER_FILE_SYSTEM =
  "the workspace and .goald are on different file systems, and folders are moved only within one";
const IN_WAY = "something that is not in the history is in its place";

async function refusePutBack(
  wanted: string,
  now: Placed,
  state: "kept" | "discarded" | undefined,
): Promise<string | undefined> {
  if (!now.alive.has(wanted)) return "it was deleted permanently";
  if (state === "discarded") return "it was discarded to save space";
  return state === undefined ? "it is not in the workspace any more, and goald did not set it aside" : undefined;
}

/** Files that the history has make room for a folder. */
async function isInWay(
  path: string,
  kind: "folder" | "other" | "none",
  versions: readonly FileVersion[],
  { workspace }: FolderParts,
): Promise<boolean> {
  if (kind === "none") return false;
  const known = new Set(versions.filter(holdsFileContent).map((version) => version.path));
  if (kind === "other") return !known.has(path);
  const placed = new Set(versions.filter(({ operation }) => operation === "place").map((version) => version.path));
  for await (const file of workspace.list(path, (inner) => !placed.has(inner))) if (!known.has(file.path)) return true;
  return false;
}
