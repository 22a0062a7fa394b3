/**
 * restore-files.ts -- restores an agent's files to their versions after a step.
 *
 * `restoreFiles` first stores the files that a person edited. Then it commits the restoration with a message to the agent,
 * and writes the files. After a crash in between, the same call does the rest. It claims the agent's lease, so the agent
 * must not be running.
 */
import { hash } from "node:crypto";
import { GoaldError, isGoaldError } from "#core/errors.ts";
import { EVENT_VERSION, type RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Commit } from "#core/ports/commit.ts";
import type { FileChange, FileVersion } from "#core/ports/file-version.ts";
import type { Store } from "#core/ports/store.ts";
import type { OpenWorkspace, Workspace } from "#core/ports/workspace.ts";
import { outsideOf } from "#core/provenance.ts";
import { STATE_VERSION } from "#core/state.ts";
import { stateOf } from "#views/load-agent.ts";
import { describeRestored, type PlannedFile, planFor, type RestorePlan, summarizePlan } from "#views/restore-plan.ts";
import { byPath, RESTORE_CALL, restoreVersion } from "#views/restore-version.ts";

export interface RestoreParts {
  readonly store: Pick<Store, "claim" | "load" | "files" | "blob" | "commit" | "lastFileVersion">;
  readonly clock: Pick<Clock, "now">;
  readonly openWorkspace: OpenWorkspace;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
}

export interface RestoreRequest {
  readonly step: number;
  readonly paths: readonly string[];
}

/** Returns the changes made. Throws GOALD_NOT_FOUND for an unknown step or path, and GOALD_FILE. */
export async function restoreFiles(
  row: AgentRow,
  { step, paths }: RestoreRequest,
  parts: RestoreParts,
): Promise<RestorePlan> {
  const { store, folder, openWorkspace } = parts;
  const workspace = openWorkspace(folder);
  const plan = await planFor(row, { step, paths }, store, workspace);
  const work = plan.filter(({ action }) => action !== "keep");
  if (work.length > 0) {
    await commitRestoration(row, step, work, parts);
    await writeFiles(work, workspace, row.id, step);
  }
  return { agent: row.id, step, workspace: folder, files: summarizePlan(plan) };
}

async function commitRestoration(
  { id }: AgentRow,
  step: number,
  work: readonly PlannedFile[],
  { store, clock, openWorkspace, folder }: RestoreParts,
): Promise<void> {
  const lease = await store.claim(id);
  const { head } = await store.load(id, STATE_VERSION);
  const at = clock.now().toISOString();
  const kept: FileChange[] = [];
  const workspace = openWorkspace(folder, (change) => kept.push(change), {
    lastVersion: (path) => store.lastFileVersion(id, path),
  });
  for (const { path } of work) await workspace.preserve(path);
  const versions = await store.files(id);
  const edited = await withoutKnown(kept, versions, store);
  const of = { step: (await stateOf(store, { id })).step, callId: `${RESTORE_CALL}${at}` };
  const files: Commit["files"] = [...edited, ...work.map(changeOf)].map((change) => ({ ...change, ...of }));
  // Informs the agent that its memories of these files are out of date.
  const message = { type: "message-received", from: "person", text: describeRestored(step, work) } as const;
  const event: RecordedEvent = { v: EVENT_VERSION, frame: 0, seq: head + 1, at, ...message };
  const nothing = { consumed: [], memories: [], blobs: [], staged: [] };
  await store.commit(lease, head, { ...nothing, events: [event], files });
}

/** A file that a person edited or restored keeps the sources of its version. */
type MarkedChange = FileChange & Pick<FileVersion, "outside">;

/**
 * Leaves out files whose content equals their version in the history. Compares whole versions, because the last entry
 * may be an appended piece.
 */
async function withoutKnown(
  kept: readonly FileChange[],
  versions: readonly FileVersion[],
  store: Pick<Store, "blob">,
): Promise<readonly MarkedChange[]> {
  const edited: MarkedChange[] = [];
  const known = byPath(versions);
  for (const change of kept) {
    const last = await restoreVersion(known.get(change.path) ?? [], store);
    const { outside = [] } = versions.findLast(({ path }) => path === change.path) ?? {};
    if (last === null || sha256(last) !== change.sha256) edited.push({ ...change, ...outsideOf(outside) });
  }
  return edited;
}

const sha256 = (content: Uint8Array): string => hash("sha256", content, "hex");

function changeOf({ path, content, outside = [] }: PlannedFile): MarkedChange {
  if (content === null) return { path, operation: "delete", bytes: 0, sha256: null, content };
  return { path, operation: "write", bytes: content.length, sha256: sha256(content), content, ...outsideOf(outside) };
}

async function writeFiles(
  work: readonly PlannedFile[],
  workspace: Pick<Workspace, "write" | "remove">,
  agent: string,
  step: number,
): Promise<void> {
  for (const { path, content } of work)
    try {
      if (content === null) await workspace.remove(path);
      else await workspace.write(path, content);
    } catch (thrown) {
      if (!isGoaldError(thrown)) throw thrown;
      const hint = `${thrown.hint} Nothing is lost: the same call does the rest (goald restore ${agent} --step ${step}).`;
      throw new GoaldError(thrown.code, `${path} could not be restored: ${thrown.message}`, {
        hint: hint.trim(),
        cause: thrown,
      });
    }
}
