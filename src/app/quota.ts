/** quota.ts -- the quotas of one agent, from the settings. */
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { createFolderQuota, type FolderQuota } from "#workspace/folder-quota.ts";

const MB = 1024 * 1024;

/** A sub-agent's folder is within its parent's, and they share the quota of the topmost. */
export function createQuota(
  { workspaceFolder }: Home,
  { quota }: Pick<Settings, "quota">,
  { folder }: AgentRow,
): FolderQuota {
  const [top = folder, ...inside] = folder.split("/");
  return createFolderQuota(join(workspaceFolder, top), inside.map((name) => `${name}/`).join(""), {
    bytes: quota.folderMegabytes * MB,
    files: quota.folderFiles,
    pageBytes: quota.pagesMegabytes * MB,
  });
}
