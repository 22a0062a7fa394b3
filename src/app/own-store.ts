/** own-store.ts -- changes and copies the store of a home without a host: accepts what it has lost, writes a backup. */
import { resolve } from "node:path";
import type { Home } from "#config/home.ts";
import { backupStore } from "#store/sqlite/backup.ts";
import { type HostLock, holdHostLock } from "#store/sqlite/host-lock.ts";
import { acceptStoreLoss } from "#store/sqlite/open-store.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../shipped.ts";

/** Returns what the home's store has lost; afterwards agents run again. Throws GOALD_ALREADY_RUNNING when a host runs. */
export async function acceptLossOf(home: Pick<Home, "lock" | "database">): Promise<readonly string[]> {
  using _lock = lockHome(home);
  return await acceptStoreLoss(home.database);
}

export const lockHome = ({ lock }: Pick<Home, "lock">): HostLock =>
  holdHostLock(lock, {
    pid: process.pid,
    version: readVersion(),
    startedAt: systemClock.now().toISOString(),
  });

/**
 * Needs no lock: agents may run meanwhile. Throws GOALD_CONFLICT when the file exists, unless `replace` is set, and
 * GOALD_STORE_DAMAGED for a damaged store.
 */
export async function backUpHome(home: Pick<Home, "database">, name: string, replace: boolean) {
  const file = resolve(name);
  return { file, ...(await backupStore(home.database, file, replace)) };
}
