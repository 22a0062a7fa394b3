/**
 * restore-plan.ts -- plans the changes that restore an agent's files to their versions after a step. Changes nothing.
 *
 * Covers files in the history; other files, goald's own and those of sub-agents stay as they are. The history does not have the
 * content of a folder that came as a whole, such as a clone, so nothing in one is touched that is there now or was there then.
 */
import { GoaldError } from "#core/errors.ts";
import { type AgentRow, type FileVersion, holdsContent, type StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type OutsideSource, outsideOf } from "#core/provenance.ts";
import { splitSubagentPath } from "#core/subagent.ts";
import { closed, count, described, flag, listOf, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { isSame, requireKnown } from "./file-diff.ts";
import { isChosen, requireTaken, restoreVersion, upToStep } from "./file-versions.ts";
import { stateOf } from "./read-agent.ts";

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
  /** The newest version in the history has another content. */
  readonly isNew: boolean;
}

export interface WholePlan extends Pick<RestorePlan, "lastStep" | "clones"> {
  /** Sorted by path. */
  readonly files: readonly PlannedFile[];
  readonly versions: readonly FileVersion[];
}

export interface PlanParts {
  readonly reader: Pick<StoreReader, "load" | "files" | "blob">;
  readonly workspace: Pick<Workspace, "stat" | "read">;
}

/** More bytes are not held in memory at once. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Throws GOALD_NOT_FOUND for an unknown step or path, GOALD_FILE_TOO_LARGE for more than 256 MB, and a workspace error for a
 * path that is no longer a regular file.
 */
export async function planRestore(
  { id }: Pick<AgentRow, "id">,
  { step, paths = [] }: RestoreRequest,
  { reader, workspace }: PlanParts,
): Promise<WholePlan> {
  const versions = await reader.files(id);
  const { step: lastStep } = await stateOf(reader, { id });
  requireTaken(step, lastStep, id);
  requireKnown(paths, versions, id);
  const kept = new Set(upToStep(versions, step));
  const clones = await findClones(versions, kept, workspace);
  const files: PlannedFile[] = [];
  let bytes = 0;
  for (const history of historiesOf(versions)) {
    const { path } = history;
    if (!isOwnPath(path) || !isChosen(path, paths) || clones.some((clone) => touches(path, clone.path))) continue;
    const file = await planFile(history, kept, { reader, workspace });
    files.push(file);
    bytes += (file.content?.length ?? 0) + (file.bytesNow ?? 0);
    if (bytes > MAX_BYTES) throw tooManyBytes();
  }
  const isNamed = ({ path }: { readonly path: string }): boolean =>
    isChosen(path, paths) || paths.some((chosen) => touches(chosen, path));
  return { lastStep, files, clones: clones.filter(isNamed), versions };
}

const tooManyBytes = (): GoaldError =>
  new GoaldError("GOALD_FILE_TOO_LARGE", `Expected at most ${MAX_BYTES} bytes to restore at once, found more.`, {
    hint: "Restore some of the files or folders first, then the others.",
  });

/** goald's own files and the folders of sub-agents, which have histories of their own, stay as they are. */
const isOwnPath = (path: string): boolean => !path.startsWith("_goald/") && splitSubagentPath(path) === undefined;

/** Whether a change of one path would change the other, which is a folder. */
const touches = (path: string, folder: string): boolean => isChosen(path, [folder]) || isChosen(folder, [path]);

/** The folders that came as a whole and that are there now, or were there after the step. Sorted by path. */
async function findClones(
  versions: readonly FileVersion[],
  kept: ReadonlySet<FileVersion>,
  workspace: PlanParts["workspace"],
): Promise<RestorePlan["clones"]> {
  const placed = new Set(versions.filter(({ operation }) => operation === "place").map(({ path }) => path));
  const clones: { readonly path: string; readonly isThere: boolean }[] = [];
  for (const path of [...placed].sort()) {
    const own = versions.filter((version) => version.path === path);
    const isThere = isPlaced(own) && (await isFolder(path, workspace));
    if (isThere || isPlaced(own.filter((version) => kept.has(version)))) clones.push({ path, isThere });
  }
  return clones;
}

const isPlaced = (versions: readonly FileVersion[]): boolean =>
  versions.findLast(({ operation }) => operation !== "trust")?.operation === "place";

/** Also true for anything else that is neither a plain file nor nothing, such as a link. */
const isFolder = (path: string, workspace: PlanParts["workspace"]): Promise<boolean> =>
  workspace.stat(path).then(
    () => false,
    () => true,
  );

interface FileHistory {
  readonly path: string;
  /** Versions of the file, and the placing of folders above it, oldest first. */
  readonly marks: readonly FileVersion[];
}

/** Histories of all files that have ever had content, sorted by path. */
function historiesOf(versions: readonly FileVersion[]): readonly FileHistory[] {
  const filled = versions.filter((version) => holdsContent(version) && version.operation !== "delete");
  const paths = new Set(filled.map(({ path }) => path));
  const places = versions.filter(({ operation }) => operation === "place");
  const byPath = Map.groupBy(versions, ({ path }) => path);
  const order = new Map(versions.map((version, index) => [version, index]));
  return [...paths].sort().map((path) => {
    const own = (byPath.get(path) ?? []).filter(holdsContent);
    const above = places.filter((place) => path.startsWith(`${place.path}/`));
    const marks = [...own, ...above].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    return { path, marks };
  });
}

async function planFile(
  history: FileHistory,
  kept: ReadonlySet<FileVersion>,
  { reader, workspace }: PlanParts,
): Promise<PlannedFile> {
  const { path, marks } = history;
  const { content, outside } = await contentAt(history, kept, reader);
  const known = await contentAt(history, new Set(marks), reader);
  const now = await workspace.stat(path);
  const isUnchanged =
    content === null || now?.bytes !== content.length
      ? now === undefined && content === null
      : isSame(await workspace.read(path), content);
  const action = isUnchanged ? "keep" : content === null ? "remove" : "write";
  const isNew = !isSame(known.content, content);
  return { path, action, content, bytesNow: now?.bytes ?? null, isNew, ...outsideOf(outside) };
}

/**
 * Returns `content` null for no file. A file that was found before its first change had that content earlier, unless it came
 * with a placed folder since.
 */
async function contentAt(
  { path, marks }: FileHistory,
  kept: ReadonlySet<FileVersion>,
  reader: Pick<StoreReader, "blob">,
) {
  const own = marks.filter((mark) => mark.path === path && kept.has(mark));
  const next = marks.find((mark) => !kept.has(mark));
  const counted = own.length === 0 && next?.operation === "found" ? [next] : own;
  return { content: await restoreVersion(counted, reader), outside: counted.at(-1)?.outside ?? [] };
}

export const RestoreRequest = closed(
  {
    step: described(count, "The files get their versions after this step; 0 is before the first."),
    paths: described(
      listOf<string>({ type: "string", minLength: 1, maxLength: 4_096 }, { maxItems: 1_000 }),
      "Files, or folders with all files below; absent or empty: all.",
    ),
  },
  "paths",
);
export type RestoreRequest = Static<typeof RestoreRequest>;

export const RestorePlan = open({
  agent: text,
  step: count,
  lastStep: described(count, "The last step of the agent, whose files can be restored in the same way."),
  workspace: described(text, "Absolute path of the agent's folder."),
  files: listOf(
    open({
      path: text,
      action: oneOf("write", "remove", "keep"),
      bytesNow: described(nullable(count), "Null for no file."),
      bytes: described(nullable(count), "After the restoration; null for no file."),
    }),
  ),
  clones: described(
    listOf(
      open({
        path: text,
        isThere: described(flag, "False for one that was there after the step and is not there now."),
      }),
    ),
    "Folders that came as a whole, such as clones. They are not restored, and nothing in them is touched.",
  ),
});
export type RestorePlan = Static<typeof RestorePlan>;

/** The plan without the contents. */
export const summarizePlan = (
  { files, clones, lastStep }: WholePlan,
  { agent, step, workspace }: Pick<RestorePlan, "agent" | "step" | "workspace">,
): RestorePlan => ({
  agent,
  step,
  lastStep,
  workspace,
  files: files.map(({ path, action, content, bytesNow }) => ({
    path,
    action,
    bytesNow,
    bytes: content?.length ?? null,
  })),
  clones,
});
