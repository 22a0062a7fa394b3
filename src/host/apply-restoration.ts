/**
 * apply-restoration.ts -- moves folders and writes files as a plan says. The history has all of it already.
 *
 * The order makes room: inner folders leave before outer ones, then files go and emptied folders with them, then folders come
 * back, outer ones first, and files are written into them. A folder that stays is out of the way while one around it is moved.
 */
import { GoaldError, isGoaldError } from "#core/errors.ts";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { PlannedFolder } from "#views/restore-folders.ts";
import type { WholePlan } from "#views/restore-plan.ts";

export interface ApplyParts {
  readonly workspace: Pick<Workspace, "stat" | "read" | "write" | "remove">;
  readonly aside: Pick<SetAside, "take" | "putBack" | "removeEmpty">;
  readonly at: Date;
}

/** Throws GOALD_FILE and other errors of the workspace; the same plan can be applied again. */
export async function applyRestoration(
  { folders, files, cleared }: WholePlan,
  { workspace, aside, at }: ApplyParts,
): Promise<void> {
  const those = (action: PlannedFolder["action"]) => folders.filter((entry) => entry.action === action);
  const moved = [...those("take-away"), ...those("place")];
  const isInside = ({ path }: PlannedFolder) => moved.some((outer) => path.startsWith(`${outer.path}/`));
  const shifted = those("keep").filter((entry) => entry.isHere && isInside(entry));
  const leaving = [...those("take-away"), ...shifted].sort(byDepth).reverse();
  const coming = [...those("place"), ...shifted].sort(byDepth);
  for (const { path, key } of leaving) await named(path, () => aside.take(path, key, at));
  const gone = files.filter(({ content }) => content === null);
  const removed = [...gone.filter(({ action }) => action === "remove").map(({ path }) => path), ...cleared];
  // A file that went with its folder is gone already.
  for (const path of removed) await named(path, () => workspace.remove(path));
  // A crash may have left empty folders where nothing is to be removed any more.
  await removeEmptied([...files, ...leaving].map(({ path }) => path).concat(cleared), aside);
  for (const { path, key } of coming) {
    await aside.removeEmpty(path);
    await named(path, () => aside.putBack(key, path));
  }
  // They came back with their folder, in which the agent made them after the step.
  const late = gone.map(({ path }) => path).filter((path) => coming.some((entry) => path.startsWith(`${entry.path}/`)));
  for (const path of late) await named(path, () => workspace.remove(path));
  await removeEmptied(late, aside);
  for (const { path, action, content } of files)
    if (content !== null && action === "write") await named(path, () => writeFile(path, content, workspace));
}

async function removeEmptied(paths: readonly string[], aside: ApplyParts["aside"]): Promise<void> {
  for (const path of new Set(paths.map(parentOf))) if (path !== "") await aside.removeEmpty(path);
}

const byDepth = (one: PlannedFolder, other: PlannedFolder): number => one.path.length - other.path.length;

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Leaves an equal file alone, which keeps its time and makes it cheap to apply a plan again. */
async function writeFile(path: string, content: Uint8Array, workspace: ApplyParts["workspace"]): Promise<void> {
  const found = await workspace.stat(path);
  if (found?.bytes === content.length && Buffer.from(await workspace.read(path)).equals(content)) return;
  await workspace.write(path, content);
}

async function named<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    if (!isGoaldError(thrown)) throw thrown;
    throw new GoaldError(thrown.code, `${path} could not be restored: ${thrown.message}`, {
      hint: thrown.hint,
      cause: thrown,
    });
  }
}
