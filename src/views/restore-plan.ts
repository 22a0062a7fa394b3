/**
 * restore-plan.ts -- plans the changes that restore an agent's files to their versions after a step. Changes nothing.
 *
 * Covers only files in the history; other files and goald's own stay as they are.
 */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type OutsideSource, outsideOf } from "#core/provenance.ts";
import { count, described, listOf, nullable, oneOf, open, type Static, text } from "#util/schema.ts";
import { requireKnown } from "./agent-diff.ts";
import { stateOf } from "./load-agent.ts";
import { requireTaken } from "./require-taken.ts";
import { byPath, isChosen, restoreVersion, upToStep } from "./restore-version.ts";

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
}

/** More bytes are not held in memory at once. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Sorted by path. Throws GOALD_FILE_TOO_LARGE for more than 256 MB, and a workspace error for a path that is no longer a
 * regular file.
 */
export async function planRestore(
  versions: readonly FileVersion[],
  { step, paths }: { readonly step: number; readonly paths: readonly string[] },
  store: Pick<StoreReader, "blob">,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<readonly PlannedFile[]> {
  const plan: PlannedFile[] = [];
  let bytes = 0;
  for (const [path, changes] of byPath(versions)) {
    if (!isChosen(path, paths)) continue;
    const kept = upToStep(changes, step);
    const content = await restoreVersion(kept, store);
    const { outside = [] } = kept.at(-1) ?? {};
    const found = await workspace.stat(path);
    const isThere = found !== undefined;
    const isSame =
      content === null
        ? !isThere
        : found?.bytes === content.length && Buffer.from(await workspace.read(path)).equals(content);
    const action = isSame ? "keep" : content === null ? "remove" : "write";
    plan.push({ path, action, content, bytesNow: found?.bytes ?? null, ...outsideOf(outside) });
    bytes += (content?.length ?? 0) + (found?.bytes ?? 0);
    if (bytes > MAX_BYTES) throw tooManyBytes();
  }
  return plan.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const tooManyBytes = (): GoaldError =>
  new GoaldError("GOALD_FILE_TOO_LARGE", `Expected at most ${MAX_BYTES} bytes to restore at once, found more.`, {
    hint: "Restore some of the files or folders first, then the others.",
  });

export const RestorePlan = open({
  agent: text,
  step: described(count, "The files get their versions after this step; 0 is before the first."),
  workspace: described(text, "Absolute path of the agent's folder."),
  files: listOf(
    open({
      path: text,
      action: oneOf("write", "remove", "keep"),
      bytesNow: described(nullable(count), "Null for no file."),
      bytes: described(nullable(count), "After the restoration; null for no file."),
    }),
  ),
});
export type RestorePlan = Static<typeof RestorePlan>;

/** Checks the request, then plans. Throws GOALD_NOT_FOUND for an unknown step or path. */
export async function planFor(
  row: Pick<AgentRow, "id">,
  { step, paths }: { readonly step: number; readonly paths: readonly string[] },
  reader: Pick<StoreReader, "load" | "files" | "blob">,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<readonly PlannedFile[]> {
  const versions = await reader.files(row.id);
  requireTaken(step, (await stateOf(reader, row)).step, row.id);
  requireKnown(paths, versions, row.id);
  return planRestore(versions, { step, paths }, reader, workspace);
}

/** The plan without the contents. */
export const summarizePlan = (plan: readonly PlannedFile[]): RestorePlan["files"] =>
  plan.map(({ path, action, content, bytesNow }) => ({ path, action, bytesNow, bytes: content?.length ?? null }));

const MAX_NAMED = 50;

/** The message of the person who restored the files, for the agent. */
export function describeRestored(step: number, work: readonly PlannedFile[]): string {
  const named = (action: PlannedFile["action"], word: string): string => {
    const paths = work.filter((file) => file.action === action).map(({ path }) => path);
    if (paths.length === 0) return "";
    const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
    return ` ${word}: ${paths.slice(0, MAX_NAMED).join(", ")}${more}.`;
  };
  return `I put files in your folder back as they were after step ${step}.${named("write", "Rewritten")}${named("remove", "Removed")}`;
}
