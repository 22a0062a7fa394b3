/** own-store.ts -- holds the lock of a home without a host, and accepts what its store has lost. */
import type { Home } from "#config/home.ts";
import { type HostLock, holdHostLock } from "#store/sqlite/host-lock.ts";
import { acceptStoreLoss } from "#store/sqlite/open-store.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../shipped.ts";

/** Returns what the home's store has lost; afterwards agents run again. Throws GOALD_ALREADY_RUNNING when a host runs. */
export async function acceptLossOf(home: Pick<Home, "lock" | "database">): Promise<readonly string[]> {
  const lock = lockHome(home);
  try {
    return await acceptStoreLoss(home.database);
  } finally {
    lock.release();
  }
}

export const lockHome = ({ lock }: Pick<Home, "lock">): HostLock =>
  holdHostLock(lock, {
    pid: process.pid,
    version: readVersion(),
    startedAt: systemClock.now().toISOString(),
  });
