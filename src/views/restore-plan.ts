/**
 * restore-plan.ts -- plans the changes that restore an agent's files and placed folders to their state after a step, or to that
 * before the newest restoration. Changes nothing.
 *
 * Covers only files in the history and folders that were placed as a whole; other files, goald's own and those of sub-agents
 * stay as they are.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type OutsideSource, outsideOf } from "#core/provenance.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { requireKnown } from "./agent-diff.ts";
import { stateOf } from "./load-agent.ts";
import { requireTaken } from "./require-taken.ts";
import { contentAt, type FileHistory, historiesOf } from "./restore-content.ts";
import { type PlannedFolder, planFolders } from "./restore-folders.ts";
import { parentsOf, type RestoreRequest, type RestoreTarget, targetOf } from "./restore-target.ts";
import { holdsFileContent, restorationOf } from "./restore-version.ts";

export interface PlannedFile {
  readonly path: string;
  /** `keep`: the file already has this version. */
  readonly action: "write" | "remove" | "keep";
  /** The restored content; null for no file. */
  readonly content: Uint8Array | null;
  /** Sources of the outside words in the content; absent: none. */
  readonly outside?: readonly OutsideSource[];
  /** Size now; null for no file. */
  readonly bytesNow: number | null;
  /** The history does not have this change yet. */
  readonly isNew: boolean;
}

export interface WholePlan {
  readonly target: RestoreTarget;
  /** Sorted by path. */
  readonly folders: readonly PlannedFolder[];
  /** Sorted by path. */
  readonly files: readonly PlannedFile[];
  /** Files that are removed first, to make room for folders that come back. */
  readonly cleared: readonly string[];
  /** Paths that somebody changed since the restoration that is to be taken back. */
  readonly changedSince: readonly string[];
}

export interface PlanParts {
  readonly row: Pick<AgentRow, "id" | "createdAt">;
  readonly reader: Pick<StoreReader, "load" | "files" | "blob">;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly openWorkspace: (folder: string) => Pick<Workspace, "stat" | "read" | "list">;
  readonly aside: Pick<SetAside, "canMove" | "kindOf" | "find" | "readUndo">;
}

/** More bytes are not held in memory at once. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The history keeps no larger file. One that is in a folder that comes back stays, because nothing else has it. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/**
 * Throws GOALD_NOT_FOUND for an unknown step or path, GOALD_FILE_TOO_LARGE for more than 256 MB, and a workspace error for a
 * path that is no longer a regular file.
 */
export async function planRestore(request: RestoreRequest, parts: PlanParts): Promise<WholePlan> {
  const { row, reader, folder, openWorkspace, aside } = parts;
  const versions = await reader.files(row.id);
  if (request.step !== null) requireTaken(request.step, (await stateOf(reader, row)).step, row.id);
  requireKnown(request.paths, versions, row.id);
  const target = targetOf(request, versions, row.id, await aside.readUndo());
  const workspace = openWorkspace(folder);
  const folders = await planFolders(versions, target, { row, aside, workspace });
  const there = folders.filter(({ isHere, stays }) => isHere || stays);
  const of = { target, versions: new Set(versions), moves: Map.groupBy(there, ({ path }) => path) };
  const [files, cleared]: [PlannedFile[], string[]] = [[], []];
  const changed = new Set(folders.filter((entry) => isMovedSince(entry, versions, target)).map(({ path }) => path));
  let bytes = 0;
  for (const history of historiesOf(versions).filter(({ path }) => target.covers(path))) {
    const planned = await planFile(history, of, { ...parts, workspace });
    if (planned.isInWay) cleared.push(history.path);
    if (planned.isChangedSince) changed.add(history.path);
    if (!planned.file) continue;
    files.push(planned.file);
    bytes += (planned.file.content?.length ?? 0) + (planned.file.bytesNow ?? 0);
    if (bytes > MAX_BYTES) throw tooManyBytes();
  }
  return { target, folders, files, cleared, changedSince: [...changed].sort() };
}

const tooManyBytes = (): GoaldError =>
  new GoaldError("GOALD_FILE_TOO_LARGE", `Expected at most ${MAX_BYTES} bytes to restore at once, found more.`, {
    hint: "Restore some of the files or folders first, then the others.",
  });

interface FileTarget {
  readonly target: RestoreTarget;
  readonly versions: ReadonlySet<FileVersion>;
  readonly moves: ReadonlyMap<string, readonly PlannedFolder[]>;
}
interface FileParts extends PlanParts {
  readonly workspace: Pick<Workspace, "stat" | "read">;
}
interface FilePlan {
  /** Undefined for a file that stays as it is, or comes and goes with its folder. */
  readonly file?: PlannedFile;
  readonly isInWay: boolean;
  readonly isChangedSince: boolean;
}

async function planFile(
  history: FileHistory,
  { target, versions, moves }: FileTarget,
  { reader, workspace, openWorkspace }: FileParts,
): Promise<FilePlan> {
  const { path } = history;
  const above = [path, ...parentsOf(path)].find((parent) => moves.has(parent));
  const entries = (above !== undefined && moves.get(above)) || [];
  const has = (action: PlannedFolder["action"]) => entries.find((entry) => entry.action === action);
  const [leaving, coming] = [has("take-away"), has("place")];
  if (entries.length > 0 && has("cannot")?.isHere) return { isInWay: false, isChangedSince: false };
  const isMoved = leaving !== undefined || coming !== undefined;
  const now = await lookAt(path, workspace, isMoved);
  const isInWay = coming !== undefined && leaving === undefined && now !== null;
  const inside = coming ? path.slice(coming.path.length + 1) : "";
  const there = coming?.kept != null && inside !== "" ? await lookAt(inside, openWorkspace(coming.kept), true) : null;
  if (there !== null && there.bytes > MAX_KEPT_BYTES) return { isInWay, isChangedSince: false };
  const asMoved = { content: (await there?.read()) ?? null, outside: coming?.outside ?? [] };
  const earlier = await contentAt(history, target.kept, reader);
  const wanted = earlier ?? (isMoved ? asMoved : undefined);
  if (!wanted) return { isInWay, isChangedSince: false };
  const { content, outside } = wanted;
  const known = await contentAt(history, versions, reader);
  const isSame = (await holds(now, content)) && (await holds(isMoved ? there : now, content));
  const action = isSame ? "keep" : content === null ? "remove" : "write";
  const isNewMove = [leaving, coming].some((entry) => entry?.isNew);
  const isWithFolder = isNewMove && (content !== null || there !== null);
  const isOther = known ? !isEqual(known.content, content) : earlier !== undefined && content !== null;
  const isNew = isWithFolder || isOther;
  const file = { path, action, content, bytesNow: now?.bytes ?? null, isNew, ...outsideOf(outside) } as const;
  const isKnown = await holds(now, known?.content ?? null);
  return { file, isInWay, isChangedSince: !isSame && isChanged(history, target, isKnown) };
}

/** A file on the disk, which may be too large to be read. */
interface SeenFile {
  readonly bytes: number;
  read(): Promise<Uint8Array>;
}

/** `isMoved`: the file comes or goes with its folder, so an entry that is not a plain file is no obstacle. */
async function lookAt(
  path: string,
  workspace: Pick<Workspace, "stat" | "read">,
  isMoved: boolean,
): Promise<SeenFile | null> {
  try {
    const found = await workspace.stat(path);
    return found ? { bytes: found.bytes, read: () => workspace.read(path) } : null;
  } catch (error) {
    if (isMoved && isGoaldError(error)) return null;
    throw error;
  }
}

/** `content`: null for no file. */
async function holds(seen: SeenFile | null, content: Uint8Array | null): Promise<boolean> {
  if (seen === null || content === null) return seen === content;
  return seen.bytes === content.length && isEqual(await seen.read(), content);
}

const isEqual = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.from(one).equals(other);

/** Whether somebody changed the file since the restoration that is taken back. `isKnown`: it is as the history says. */
function isChanged({ path, marks }: FileHistory, target: RestoreTarget, isKnown: boolean): boolean {
  const { undone, kept, isInterrupted } = target;
  if (!undone) return false;
  const last = marks.findLast((mark) => mark.path === path);
  if (!last || kept.has(last)) return false;
  return restorationOf(last) !== restorationOf(undone) || !(isKnown || isInterrupted);
}

function isMovedSince(
  { path, action }: PlannedFolder,
  versions: readonly FileVersion[],
  { undone, kept }: RestoreTarget,
): boolean {
  if (!undone || action === "keep") return false;
  const last = versions.findLast((version) => version.path === path && !holdsFileContent(version));
  return last !== undefined && !kept.has(last) && restorationOf(last) !== restorationOf(undone);
}

// ---------------------------------------------------------------- what a person and a program read of it

export const RestorePlan = open({
  agent: text,
  step: described(
    nullable(count),
    "The files get their versions after this step; 0 is before the first. Null when the newest restoration is taken back.",
  ),
  workspace: described(text, "Absolute path of the agent's folder."),
  files: listOf(
    open({
      path: text,
      action: oneOf("write", "remove", "keep"),
      bytesNow: described(nullable(count), "Null for no file."),
      bytes: described(nullable(count), "After the restoration; null for no file."),
    }),
  ),
  folders: described(
    listOf(
      open({
        path: text,
        action: described(
          oneOf("place", "take-away", "keep", "cannot"),
          "place: it comes back. take-away: it is moved aside. cannot: it stays as it is now.",
        ),
        reason: described(text, "Why it cannot be restored; empty otherwise."),
      }),
    ),
    "Folders that came as a whole, such as clones.",
  ),
  changedSince: described(
    listOf(text),
    "Paths that somebody changed since the restoration that is taken back. It needs `--force` then.",
  ),
});
export type RestorePlan = Static<typeof RestorePlan>;

/** The plan without the contents. */
export const summarizePlan = (
  { files, folders, target, changedSince }: WholePlan,
  of: Pick<RestorePlan, "agent" | "workspace">,
): RestorePlan => ({
  ...{ agent: of.agent, step: target.step, workspace: of.workspace },
  files: files.map(({ path, action, content, bytesNow }) => ({
    ...{ path, action, bytesNow },
    bytes: content?.length ?? null,
  })),
  folders: folders.map(({ path, action, reason }) => ({ path, action, reason })),
  changedSince,
});
