/**
 * restore-plan.ts -- what must be done to a folder so that an agent's files are again what they were after a step. Pure but for reading.
 *
 * Only files that the history knows are touched; others, and goald's own, stay as they are.
 */
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { byPath, isChosen, restoreVersion, upToStep } from "./restore-version.ts";

export interface PlannedFile {
  readonly path: string;
  /** `keep`: it is already as it should be. */
  readonly action: "write" | "remove" | "keep";
  /** What is to lie there; null for nothing. */
  readonly content: Uint8Array | null;
  /** Bytes there now; null for nothing. */
  readonly bytesNow: number | null;
}

/** Sorted by path. Throws what the workspace throws for a path that is no plain file any more. */
export async function planRestore(
  versions: readonly FileVersion[],
  { step, paths }: { readonly step: number; readonly paths: readonly string[] },
  store: Pick<StoreReader, "blob">,
  workspace: Pick<Workspace, "stat" | "read">,
): Promise<readonly PlannedFile[]> {
  const plan: PlannedFile[] = [];
  for (const [path, changes] of byPath(versions)) {
    if (!isChosen(path, paths)) continue;
    const content = await restoreVersion(upToStep(changes, step), store);
    const found = await workspace.stat(path);
    const isThere = found !== undefined;
    const isSame =
      content === null
        ? !isThere
        : found?.bytes === content.length && Buffer.from(await workspace.read(path)).equals(content);
    const action = isSame ? "keep" : content === null ? "remove" : "write";
    plan.push({ path, action, content, bytesNow: found?.bytes ?? null });
  }
  return plan.sort((a, b) => (a.path < b.path ? -1 : 1));
}

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
