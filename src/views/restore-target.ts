/** restore-target.ts -- the state that a restoration leads to: which versions of an agent's files count, and which paths. */
import { GoaldError } from "#core/errors.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
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
  /** The first version of the restoration that is taken back; null for a step. */
  readonly undone: FileVersion | null;
  /** A crash interrupted an undo, whose rest is left to do. */
  readonly isInterrupted: boolean;
  covers(path: string): boolean;
}

/** `undoing`: the undo that a crash may have interrupted; null for none. Throws GOALD_NOT_FOUND when there is none to take back. */
export function targetOf(
  { step, paths }: RestoreRequest,
  versions: readonly FileVersion[],
  agent: string,
  undoing: string | null,
): RestoreTarget {
  if (step === null) return targetOfUndo(versions, agent, undoing);
  const kept = new Set(upToStep(versions, step));
  return { step, kept, undone: null, isInterrupted: false, covers: (path) => isOwnPath(path) && isChosen(path, paths) };
}

/** The state right before the newest restoration, of the paths that it changed; after an interrupted undo the one right after it. */
function targetOfUndo(versions: readonly FileVersion[], agent: string, undoing: string | null): RestoreTarget {
  const newest = versions.findLast(isPutBack);
  if (!newest)
    throw new GoaldError("GOALD_NOT_FOUND", `Expected a restoration of ${agent} to take back, found none.`, {
      hint: `To restore its files to a step: goald restore ${agent} --step N`,
    });
  const restoration = restorationOf(newest);
  const isOfIt = (version: FileVersion): boolean => isPutBack(version) && restorationOf(version) === restoration;
  const first = versions.findIndex(isOfIt);
  const changed = new Set(versions.filter(isOfIt).map(({ path }) => path));
  const folders = new Set(versions.filter((version) => isOfIt(version) && !holdsFileContent(version)).map(pathOf));
  const isInterrupted = restoration === undoing;
  return {
    step: null,
    isInterrupted,
    kept: new Set(versions.slice(0, isInterrupted ? versions.findLastIndex(isOfIt) + 1 : first)),
    undone: versions[first] ?? null,
    covers: (path) => changed.has(path) || parentsOf(path).some((parent) => folders.has(parent)),
  };
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
