/** quota.ts -- the quotas of one agent, from the settings. */

import { join } from "node:path";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import type { AgentRow, Store } from "#core/ports/store.ts";
import { MEBIBYTE } from "#util/mebibyte.ts";
import { createFolderQuota, type FolderQuota } from "#workspace/folder-quota.ts";

/** A scan of the folder and a backup of it still take seconds. */
const MAX_FILES = 100_000;
/** Parts of `quota.megabytes`: a page can be read again, and a download comes from a stranger. */
const PAGES_SHARE = 0.1;
const DOWNLOADS_SHARE = 0.5;
/** A folder that is full can be rewritten twice before its earlier versions fill the store. */
const HISTORY_SHARE = 2;

/** Maximum bytes of all files and repositories that an agent downloads over its life. */
export const downloadLimitOf = ({ quota }: Pick<Settings, "quota">): number =>
  quota.megabytes * DOWNLOADS_SHARE * MEBIBYTE;

interface QuotaParts {
  readonly home: Home;
  readonly store: Pick<Store, "storedBytes">;
  readonly settings: Pick<Settings, "quota">;
}

/** A sub-agent's folder is within its parent's, and they share the quotas of the topmost. */
export function createQuota({ home, store, settings: { quota } }: QuotaParts, { folder }: AgentRow): FolderQuota {
  const [top = folder, ...inside] = folder.split("/");
  const limits = {
    bytes: quota.megabytes * MEBIBYTE,
    files: MAX_FILES,
    pageBytes: quota.megabytes * PAGES_SHARE * MEBIBYTE,
  };
  const history = { bytes: quota.megabytes * HISTORY_SHARE * MEBIBYTE, storedBytes: () => store.storedBytes(top) };
  const prefix = inside.map((name) => `${name}/`).join("");
  return createFolderQuota(join(home.workspaceFolder, top), prefix, limits, history);
}

/** The options of an agent's workspace. */
export const accessOf = (host: QuotaParts & { readonly store: Pick<Store, "lastFileVersion"> }, row: AgentRow) => ({
  lastVersion: (path: string) => host.store.lastFileVersion(row.id, path),
  staging: join(host.home.privateFolder, "clones"),
  quota: createQuota(host, row),
});
