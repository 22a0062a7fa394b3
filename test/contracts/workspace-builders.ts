/** workspace-builders.ts -- shared parts of the workspace contract. */
import { createHash } from "node:crypto";
import type { FileChange } from "#core/ports/store.ts";
import type { LastVersion, Workspace } from "#core/ports/workspace.ts";

export interface WorkspaceUnderTest {
  /** Opens the same folder at each call. */
  open(onChange?: (change: FileChange) => void, own?: boolean, lastVersion?: LastVersion): Workspace;
  close(): Promise<void>;
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
export const namesIn = async (workspace: Workspace, directory = ""): Promise<string[]> =>
  (await Array.fromAsync(workspace.list(directory))).map((file) => file.path);
