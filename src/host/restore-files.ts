/**
 * restore-files.ts -- restores an agent's files to their versions after a step. The history comes first: one commit
 * stores the files that a person edited, and the versions that the restoration leads to. Then the files are written.
 * After a crash in between, the same call writes the rest. It claims the agent's lease, so the agent must not be
 * running.
 */
import { hash } from "node:crypto";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import { type FilesRestored, MAX_CHANGES } from "#core/evolve.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { NewMemory } from "#core/ports/memory.ts";
import type { AgentRow, CommittedFile, FileChange, FileVersion, Store } from "#core/ports/store.ts";
import { holdsContent } from "#core/ports/store.ts";
import type { OpenWorkspace, Workspace } from "#core/ports/workspace.ts";
import { outsideOf } from "#core/provenance.ts";
import type { AgentState } from "#core/state.ts";
import type { AgentView } from "#views/agent-view.ts";
import { DROPPED, isPutBack, RESTORE_CALL, restoreVersion } from "#views/file-versions.ts";
import { foldLog } from "#views/read-agent.ts";
import {
  type PlannedFile,
  planRestore,
  type RestorePlan,
  type RestoreRequest,
  summarizePlan,
  type WholePlan,
} from "#views/restore-plan.ts";
import type { HostControlParts } from "./host-control.ts";

export interface RestoreParts {
  readonly store: Pick<Store, "claim" | "load" | "files" | "blob" | "commit" | "lastFileVersion">;
  readonly clock: Pick<Clock, "now">;
  readonly openFolder: OpenWorkspace;
  remember(before: AgentState, event: RecordedEvent, agent: string): Promise<readonly NewMemory[]>;
}

/** Throws GOALD_CONFLICT for an agent at work, GOALD_NOT_FOUND for an unknown step or path, and GOALD_FILE. */
export async function restoreAtRest(
  row: AgentRow,
  { state, workspace }: Pick<AgentView, "state" | "workspace">,
  request: RestoreRequest,
  parts: RestoreParts & Pick<HostControlParts, "supervisor" | "recordings">,
): Promise<RestorePlan> {
  if (state === "running" || state.startsWith("waiting"))
    throw new GoaldError("GOALD_CONFLICT", `${row.id} is ${state}: its files cannot be restored now.`, {
      hint: `Stop it first: goald stop ${row.id}. To see what would change: --dry-run`,
    });
  return parts.supervisor.hold(row.id, () => {
    // A recording cannot play a restoration.
    parts.recordings.release(row.id);
    return restoreFiles(row, workspace, request, parts);
  });
}

/** `folder`: absolute path of the agent's folder. */
export async function restoreFiles(
  row: AgentRow,
  folder: string,
  request: RestoreRequest,
  parts: RestoreParts,
): Promise<RestorePlan> {
  const { store, openFolder } = parts;
  const workspace = openFolder(folder);
  const plan = await planRestore(row, request, { reader: store, workspace });
  await commitRestoration(row.id, folder, request.step, plan, parts);
  await applyPlan(plan, workspace);
  return summarizePlan(plan, { agent: row.id, step: request.step, workspace: folder });
}

/** Files go first, because one may be where a folder is needed. */
async function applyPlan({ files }: WholePlan, workspace: Workspace): Promise<void> {
  for (const { path, action } of files) if (action === "remove") await named(path, workspace.remove(path));
  for (const { path, action, content } of files)
    if (action === "write" && content !== null) await named(path, workspace.write(path, content));
}

async function named(path: string, done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (thrown) {
    if (!isGoaldError(thrown)) throw thrown;
    throw new GoaldError(thrown.code, `${path} could not be restored: ${thrown.message}`, {
      hint: `${thrown.hint} Nothing is lost: the same call does the rest.`.trim(),
      cause: thrown,
    });
  }
}

async function commitRestoration(
  id: string,
  folder: string,
  toStep: number,
  plan: WholePlan,
  { store, clock, openFolder, remember }: RestoreParts,
): Promise<void> {
  const found: FileChange[] = [];
  const lastVersion = (path: string) => store.lastFileVersion(id, path);
  const workspace = openFolder(folder, (change) => found.push(change), { lastVersion });
  const edited = await findEdits(plan, workspace, found, store);
  const written = plan.files.filter(({ path, isNew }) => isNew || edited.some((change) => change.path === path));
  if (written.length === 0) return;
  const at = clock.now().toISOString();
  const callId = `${RESTORE_CALL}${at}`;
  const lease = await store.claim(id);
  const { head, state } = await foldLog(store, { id });
  const record = recordOf(toStep, written);
  const event: RecordedEvent = { v: EVENT_VERSION, frame: 0, seq: head + 1, at, ...record };
  const edits = edited.map((edit) => ({ ...edit, callId: `${callId}${toStep === state.step ? DROPPED : ""}` }));
  const restored = written.map((file) => ({ ...changeOf(file), callId }));
  const files = [...edits, ...restored].map((change) => ({ ...change, step: state.step }));
  const memories = await remember(state, event, id);
  await store.commit(lease, head, { events: [event], files, memories, consumed: [], blobs: [], staged: [] });
}

/** A file that a person edited or restored keeps the sources of its version. */
type MarkedChange = Omit<CommittedFile, "callId" | "step">;

/** Contents that the restoration replaces and that the history does not have. Fills `found` by `workspace`. */
async function findEdits(
  { files, versions }: WholePlan,
  workspace: Pick<Workspace, "preserve">,
  found: readonly FileChange[],
  store: Pick<Store, "blob">,
): Promise<readonly MarkedChange[]> {
  for (const { path, action, bytesNow } of files)
    if (action !== "keep" && bytesNow !== null) await workspace.preserve(path);
  const edited: MarkedChange[] = [];
  for (const change of found) {
    const own = versions.filter(({ path, operation }) => path === change.path && operation !== "trust");
    const { outside = [] } = own.at(-1) ?? {};
    if (!(await isKnown(change, own, store))) edited.push({ ...change, ...outsideOf(outside) });
  }
  return edited;
}

/** An interrupted restoration leaves the version before it, of which nothing is lost. */
async function isKnown(
  { sha256: found }: FileChange,
  versions: readonly FileVersion[],
  store: Pick<Store, "blob">,
): Promise<boolean> {
  const own = versions.filter(holdsContent);
  for (let end = own.length; end > 0; end--) {
    const content = await restoreVersion(own.slice(0, end), store);
    if (content !== null && sha256(content) === found) return true;
    const last = own[end - 1];
    if (!last || !isPutBack(last)) return false;
  }
  return false;
}

/** Informs the agent that its memories of these files are out of date. */
function recordOf(toStep: number, written: readonly PlannedFile[]): FilesRestored {
  const changes = written
    .slice(0, MAX_CHANGES)
    .map(({ path, content }) => ({ path, change: content === null ? "removed" : "written" }) as const);
  return { type: "files-restored", toStep, changes, more: written.length - changes.length };
}

function changeOf({ path, content, outside = [] }: PlannedFile): MarkedChange {
  if (content === null) return { path, operation: "delete", bytes: 0, sha256: null, content: null };
  return { path, operation: "write", bytes: content.length, sha256: sha256(content), content, ...outsideOf(outside) };
}

const sha256 = (content: Uint8Array): string => hash("sha256", content, "hex");
