/** workspace-builders.ts -- the workspace that a contract is held to, and how the parts of the contract look into it. */
import { createHash } from "node:crypto";
import type { FileChange } from "#core/ports/file-version.ts";
import type { LastVersion, Workspace } from "#core/ports/workspace.ts";

export interface WorkspaceUnderTest {
  /** Each call opens the same folder. */
  open(onChange?: (change: FileChange) => void, own?: boolean, lastVersion?: LastVersion): Workspace;
  close(): Promise<void>;
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
export const namesIn = async (workspace: Workspace, directory = ""): Promise<string[]> =>
  (await Array.fromAsync(workspace.list(directory))).map((file) => file.path);
