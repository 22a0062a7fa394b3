/**
 * restore-files.ts -- restores an agent's files and placed folders to their state after a step, or takes the newest restoration
 * back.
 *
 * The history comes first: one commit stores the files that a person edited, and the versions that the restoration leads to.
 * Then folders are moved and files are written. After a crash in between, the same call plans what is left and does it, without
 * a second commit. It claims the agent's lease, so the agent must not be running.
 */
import { hash } from "node:crypto";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import { type FilesRestored, MAX_CHANGES } from "#core/files-restored.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Commit, CommittedFile } from "#core/ports/commit.ts";
import type { FileChange, FileVersion } from "#core/ports/file-version.ts";
import type { NewMemory } from "#core/ports/memory-row.ts";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { Store } from "#core/ports/store.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { outsideOf } from "#core/provenance.ts";
import type { AgentState } from "#core/state.ts";
import { foldLog } from "#views/load-agent.ts";
import { historiesOf } from "#views/restore-content.ts";
import type { PlannedFolder } from "#views/restore-folders.ts";
import { type PlannedFile, planRestore, type RestorePlan, summarizePlan, type WholePlan } from "#views/restore-plan.ts";
import type { RestoreRequest } from "#views/restore-target.ts";
import { isPutBack, RESTORE_CALL, restoreVersion } from "#views/restore-version.ts";
import { applyRestoration } from "./apply-restoration.ts";

export interface RestoreParts {
  readonly store: Pick<Store, "claim" | "load" | "files" | "blob" | "commit" | "lastFileVersion">;
  readonly clock: Pick<Clock, "now">;
  readonly openWorkspace: OpenWorkspace;
  readonly aside: SetAside;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  /** Folders that were set aside earlier are discarded, the oldest first, when all have more bytes. */
  readonly asideBytes: number;
  remember(before: AgentState, event: RecordedEvent, agent: string): NewMemory | undefined;
}

export interface Restored extends RestorePlan {
  /** Paths of folders that were discarded to save space. */
  readonly discarded: readonly string[];
}

/**
 * `isForced`: takes a restoration back although somebody changed its files since. Throws GOALD_NOT_FOUND for an unknown step
 * or path, GOALD_CONFLICT for such files, and GOALD_FILE.
 */
export async function restoreFiles(
  row: AgentRow,
  request: RestoreRequest & { readonly isForced?: boolean },
  parts: RestoreParts,
): Promise<Restored> {
  const { store, folder, openWorkspace, aside, clock, asideBytes } = parts;
  const plan = await planRestore(request, { row, reader: store, folder, openWorkspace, aside });
  if (plan.changedSince.length > 0 && request.isForced !== true) throw changedSince(row.id, plan.changedSince);
  const at = clock.now();
  if (request.step === null && !plan.target.isInterrupted) await aside.noteUndo(`${RESTORE_CALL}${at.toISOString()}`);
  await commitRestoration(row, plan, at, parts);
  const workspace = openWorkspace(folder);
  await applyRestoration(plan, { workspace, aside, at }).catch((thrown) => {
    throw isGoaldError(thrown) ? unfinished(thrown) : thrown;
  });
  if (request.step === null) await aside.noteUndo(null);
  const gone = new Set(await aside.trim(asideBytes, at));
  const discarded = gone.size === 0 ? [] : [...gone].map((key) => pathOfKey(key, plan));
  return { ...summarizePlan(plan, { agent: row.id, workspace: folder }), discarded };
}

/** A folder of another path has no name here. */
const pathOfKey = (key: string, { folders }: WholePlan): string =>
  folders.find((entry) => entry.key === key)?.path ?? "a folder that was taken away earlier";

async function commitRestoration(
  { id }: AgentRow,
  plan: WholePlan,
  now: Date,
  { store, openWorkspace, folder, remember }: RestoreParts,
): Promise<void> {
  const versions = await store.files(id);
  const edited = await findEdits(plan, versions, {
    store,
    open: (onChange) => openWorkspace(folder, onChange, { lastVersion: (path) => store.lastFileVersion(id, path) }),
  });
  const isEdited = (path: string): boolean => edited.some((change) => change.path === path);
  const at = now.toISOString();
  const callId = `${RESTORE_CALL}${at}`;
  const folders = plan.folders.filter(({ isNew }) => isNew);
  const written = plan.files.filter(({ isNew, path, action }) => isNew || (isEdited(path) && action !== "keep"));
  const changes: readonly Omit<CommittedFile, "step">[] = [
    ...edited.map((change) => ({ ...change, callId })),
    ...folders.filter(({ stays }) => !stays).map(({ path }) => ({ ...deletionOf(path), callId })),
    ...folders
      .filter(({ stays }) => stays)
      .map((entry) => ({ ...placingOf(entry), callId: `${callId}/${entry.placedBy}` })),
    ...written.map((file) => ({ ...changeOf(file), callId })),
  ];
  if (changes.length === 0) return;
  const lease = await store.claim(id);
  const { head, state } = await foldLog(store, { id });
  const files: Commit["files"] = changes.map((change) => ({ ...change, step: state.step }));
  const event: RecordedEvent = { v: EVENT_VERSION, frame: 0, seq: head + 1, at, ...recordOf(plan, written) };
  const memory = remember(state, event, id);
  const nothing = { consumed: [], blobs: [], staged: [] };
  await store.commit(lease, head, { ...nothing, events: [event], files, memories: memory ? [memory] : [] });
}

/** Informs the agent that its memories of these files are out of date. */
function recordOf({ target, folders }: WholePlan, written: readonly PlannedFile[]): FilesRestored {
  const says = { place: "put-back", "take-away": "taken-away", cannot: "lost" } as const;
  const changes: FilesRestored["changes"] = [
    ...folders.flatMap(({ path, action }) => (action === "keep" ? [] : [{ path, change: says[action] }])),
    ...written.map(({ path, content }) => ({ path, change: content === null ? "removed" : "written" }) as const),
  ];
  const shown = changes.slice(0, MAX_CHANGES);
  return { type: "files-restored", toStep: target.step, changes: shown, more: changes.length - shown.length };
}

/** A file that a person edited or restored keeps the sources of its version. */
type MarkedChange = FileChange & Pick<FileVersion, "outside">;

const deletionOf = (path: string): MarkedChange => ({
  ...{ path, operation: "delete", bytes: 0, sha256: null, content: null },
});

const placingOf = ({ path, outside = [] }: PlannedFolder): MarkedChange => ({
  ...{ path, operation: "place", bytes: 0, sha256: null, content: null },
  ...outsideOf(outside),
});

function changeOf({ path, content, outside = [] }: PlannedFile): MarkedChange {
  if (content === null) return deletionOf(path);
  return { path, operation: "write", bytes: content.length, sha256: sha256(content), content, ...outsideOf(outside) };
}

const sha256 = (content: Uint8Array): string => hash("sha256", content, "hex");

interface EditParts {
  readonly store: Pick<Store, "blob">;
  open(onChange: (change: FileChange) => void): ReturnType<OpenWorkspace>;
}

/**
 * Contents that the restoration replaces and that the history does not have. Compares whole versions, because the last entry
 * may be an appended piece.
 */
async function findEdits(
  plan: WholePlan,
  versions: readonly FileVersion[],
  { store, open }: EditParts,
): Promise<readonly MarkedChange[]> {
  const found: FileChange[] = [];
  const workspace = open((change) => found.push(change));
  for (const { path, action, bytesNow } of plan.files)
    if (action !== "keep" && bytesNow !== null) await preserve(path, plan, workspace);
  for (const path of plan.cleared) await workspace.preserve(path);
  const edited = new Map<string, MarkedChange>();
  const histories = new Map(historiesOf(versions).map((history) => [history.path, history.marks]));
  for (const change of found) {
    const own = (histories.get(change.path) ?? []).filter(({ path }) => path === change.path);
    const { outside = [] } = own.at(-1) ?? {};
    if (!(await isKnown(change, own, store))) edited.set(change.path, { ...change, ...outsideOf(outside) });
  }
  return [...edited.values()];
}

/** A file that is too large to be kept is moved with its folder, so nothing of it is lost. */
async function preserve(path: string, { folders }: WholePlan, workspace: ReturnType<OpenWorkspace>): Promise<void> {
  const isMoved = folders.some((entry) => entry.action === "take-away" && path.startsWith(`${entry.path}/`));
  await workspace.preserve(path).catch((thrown) => {
    if (!isMoved || !isGoaldError(thrown)) throw thrown;
  });
}

/** The last version, or one that restorations since the last other change replaced, which a crash may have left or brought back. */
async function isKnown(change: FileChange, own: readonly FileVersion[], store: Pick<Store, "blob">): Promise<boolean> {
  const others = own.findLastIndex((version) => !isPutBack(version)) + 1;
  for (let count = own.length; count >= others && count > 0; count--) {
    const content = await restoreVersion(own.slice(0, count), store);
    if (content !== null && sha256(content) === change.sha256) return true;
  }
  return false;
}

const MAX_NAMED = 10;

function changedSince(agent: string, paths: readonly string[]): GoaldError {
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  return new GoaldError(
    "GOALD_CONFLICT",
    `Changed since the newest restoration of ${agent}: ${paths.slice(0, MAX_NAMED).join(", ")}${more}. Nothing was done.`,
    {
      hint: `To take it back nevertheless: goald restore ${agent} --undo --force. The present files stay in the history.`,
    },
  );
}

const unfinished = (thrown: GoaldError): GoaldError =>
  new GoaldError(thrown.code, thrown.message, {
    hint: `${thrown.hint} Nothing is lost: the same call does the rest.`.trim(),
    cause: thrown,
  });
