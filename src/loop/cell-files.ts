/** cell-files.ts -- the agent's files as code sees them, read through the workspace of its call. */
import { codeOfError } from "#commands/execute.ts";
import { isGoaldError } from "#core/errors.ts";
import type { CellFile, CellHost, CellReply } from "#core/ports/sandbox.ts";
import type { Workspace } from "#core/ports/workspace.ts";

const MAX_LISTED_FILES = 10_000;
const OUTPUTS = "_goald/outputs";

export const openCellFiles = (workspace: Workspace): Pick<CellHost, "listFiles" | "readFile"> => ({
  listFiles: async () => {
    const files: CellFile[] = [];
    for await (const { path, bytes, modifiedAt, inode = 0 } of workspace.list("", isShown)) {
      if (files.length === MAX_LISTED_FILES) return { files, isComplete: false };
      files.push({ path, bytes, stamp: `${modifiedAt} ${bytes} ${inode}` });
    }
    return { files, isComplete: true };
  },
  readFile: async (path) => {
    try {
      return { value: await workspace.read(path) };
    } catch (error) {
      return asProblem(error);
    }
  },
});

/** goald's own files, but the long outputs of commands, are not for code. */
const isShown = (folder: string): boolean =>
  folder === "_goald" || folder === OUTPUTS || folder.startsWith(`${OUTPUTS}/`) || !folder.startsWith("_goald/");

/** Throws what code must not catch. */
function asProblem(error: unknown): CellReply<never> {
  if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
  const { message, hint } = error;
  return { error: { code: codeOfError(error), text: hint ? `${message} ${hint}` : message } };
}
