/** restore-target.ts -- the state that a restoration leads to: which versions of an agent's files count, and which paths. */
import { GoaldError } from "#core/errors.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { NotedRestoration } from "#core/ports/set-aside.ts";
import { splitSubagentPath } from "#core/subagents/folder.ts";
import { holdsFileContent, isChosen, isPutBack, restorationOf, upToStep } from "./restore-version.ts";

export interface RestoreRequest {
  /** The files get their versions after this step; 0 is before the first. Null takes back the newest restoration. */
  readonly step: number | null;
  /** Files, or folders with all files below; empty means all files. */
  readonly paths: readonly string[];
}

export interface RestoreTarget {
  readonly step: number | null;
  /** The versions that lead to it, in order. */
  readonly kept: ReadonlySet<FileVersion>;
  /** The first version of the restoration that is taken back; null for none. */
  readonly undone: FileVersion | null;
  /** The call id of the interrupted restoration whose rest is left to do; null for a new restoration. */
  readonly completes: string | null;
  covers(path: string): boolean;
}

/**
 * The restoration that a crash interrupted after its versions were committed. Once the history has later changes, it is one of
 * the restorations that ended.
 */
export function findInterrupted(
  versions: readonly FileVersion[],
  noted: NotedRestoration | null,
): NotedRestoration | null {
  const last = versions.at(-1);
  return noted && last && restorationOf(last) === noted.callId ? noted : null;
}

/** Whether the call that was interrupted is made again. */
export const isRepeated = ({ step, paths }: RestoreRequest, interrupted: NotedRestoration): boolean =>
  step === interrupted.step && JSON.stringify(paths) === JSON.stringify(interrupted.paths);

/** Throws GOALD_NOT_FOUND when there is no restoration to take back. */
export function targetOf(
  request: RestoreRequest,
  versions: readonly FileVersion[],
  agent: string,
  interrupted: NotedRestoration | null,
): RestoreTarget {
  const { step, paths } = request;
  if (interrupted && isRepeated(request, interrupted)) {
    const { callId: completes } = interrupted;
    return { step, kept: new Set(versions), undone: null, completes, covers: pathsOf(completes, versions) };
  }
  if (step === null) return targetOfUndo(versions, agent);
  const covers = (path: string): boolean => isOwnPath(path) && isChosen(path, paths);
  return { step, kept: new Set(upToStep(versions, step)), undone: null, completes: null, covers };
}

/** The state right before the newest restoration, of the paths that it changed. */
function targetOfUndo(versions: readonly FileVersion[], agent: string): RestoreTarget {
  const newest = versions.findLast(isPutBack);
  if (!newest)
    throw new GoaldError("GOALD_NOT_FOUND", `Expected a restoration of ${agent} to take back, found none.`, {
      hint: `To restore its files to a step: goald restore ${agent} --step N`,
    });
  const restoration = restorationOf(newest);
  const first = versions.findIndex((version) => isPutBack(version) && restorationOf(version) === restoration);
  const kept = new Set(versions.slice(0, first));
  const undone = versions[first] ?? null;
  return { step: null, kept, undone, completes: null, covers: pathsOf(restoration, versions) };
}

/** The paths that a restoration changed, and all in the folders that it moved. */
function pathsOf(restoration: string, versions: readonly FileVersion[]): RestoreTarget["covers"] {
  const own = versions.filter((version) => isPutBack(version) && restorationOf(version) === restoration);
  const changed = new Set(own.map(pathOf));
  const folders = new Set(own.filter((version) => !holdsFileContent(version)).map(pathOf));
  return (path) => changed.has(path) || parentsOf(path).some((parent) => folders.has(parent));
}

const pathOf = ({ path }: FileVersion): string => path;

/** goald's own files and the folders of sub-agents, which have histories of their own, stay as they are. */
const isOwnPath = (path: string): boolean => !path.startsWith("_goald/") && splitSubagentPath(path) === undefined;

/** The folders above a path, the nearest first. */
export function parentsOf(path: string): readonly string[] {
  const parents: string[] = [];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) parents.push(path.slice(0, end));
  return parents;
}
