/** quota.ts -- the quotas of one agent, from the settings. */

import { join } from "node:path";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import { MEBIBYTE } from "#util/mebibyte.ts";
import { createFolderQuota, type FolderQuota } from "#workspace/folder-quota.ts";

interface QuotaParts {
  readonly home: Home;
  readonly store: Pick<Store, "storedBytes">;
  readonly settings: Pick<Settings, "quota">;
}

/** A sub-agent's folder is within its parent's, and they share the quotas of the topmost. */
export function createQuota({ home, store, settings: { quota } }: QuotaParts, { folder }: AgentRow): FolderQuota {
  const [top = folder, ...inside] = folder.split("/");
  const limits = {
    bytes: quota.folderMegabytes * MEBIBYTE,
    files: quota.folderFiles,
    pageBytes: quota.pagesMegabytes * MEBIBYTE,
  };
  const history = { bytes: quota.storeMegabytes * MEBIBYTE, storedBytes: () => store.storedBytes(top) };
  const prefix = inside.map((name) => `${name}/`).join("");
  return createFolderQuota(join(home.workspaceFolder, top), prefix, limits, history);
}

/** The options of an agent's workspace. */
export const accessOf = (host: QuotaParts & { readonly store: Pick<Store, "lastFileVersion"> }, row: AgentRow) => ({
  lastVersion: (path: string) => host.store.lastFileVersion(row.id, path),
  staging: join(host.home.privateFolder, "clones"),
  quota: createQuota(host, row),
});
