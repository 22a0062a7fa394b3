/** set-aside.ts -- the folders that restorations took out of the agents' folders, and the restoration of an agent's files. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { SetAside } from "#core/ports/set-aside.ts";
import type { Store } from "#core/ports/store.ts";
import type { Restored, RestoreParts, restoreFiles } from "#host/restore-files.ts";
import { systemClock } from "#util/clock.ts";
import { MEBIBYTE } from "#util/mebibyte.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { measureSetAside, openSetAside } from "#workspace/set-aside.ts";

/** Holds a folder for each agent. */
const asideRoot = ({ privateFolder }: Pick<Home, "privateFolder">): string => join(privateFolder, "aside");

export const openAside = (home: Home, { id, folder }: AgentRow): SetAside =>
  openSetAside(join(home.workspaceFolder, folder), join(asideRoot(home), id));

export const removeAsideOf = (home: Home, agent: string): Promise<void> =>
  rm(join(asideRoot(home), agent), { recursive: true, force: true });

/** By agent. */
export const measureAside = (home: Home): ReturnType<typeof measureSetAside> => measureSetAside(asideRoot(home));

/** Restores files of an agent that does not run. */
export async function restoreAgent(
  { home, settings, store }: { readonly home: Home; readonly settings: Pick<Settings, "quota">; readonly store: Store },
  row: AgentRow,
  request: Parameters<typeof restoreFiles>[1],
): Promise<Restored> {
  const [{ restoreFiles }, { rememberStep }] = await Promise.all([
    import("#host/restore-files.ts"),
    import("#memory/recall/remember.ts"),
  ]);
  const parts: RestoreParts = {
    store,
    clock: systemClock,
    openWorkspace: openLocalWorkspace,
    aside: openAside(home, row),
    folder: join(home.workspaceFolder, row.folder),
    asideBytes: settings.quota.folderMegabytes * MEBIBYTE,
    remember: rememberStep,
  };
  return restoreFiles(row, request, parts);
}
