/** own-store.ts -- opens the store of a home without a host for changes by this process. */
import type { Home } from "#config/home.ts";
import type { Store } from "#core/ports/store.ts";
import { type HostLock, holdHostLock } from "#store/host-lock.ts";
import { acceptStoreLoss, openSqliteStore } from "#store/sqlite-store.ts";
import { systemClock } from "#util/clock.ts";
import { readVersion } from "../shipped.ts";

export interface OwnStore extends AsyncDisposable {
  readonly store: Store;
}

type Paths = Pick<Home, "lock" | "database">;

/** Holds the home's lock until disposed. Throws GOALD_ALREADY_RUNNING when a host holds it. */
export async function openOwnStore(home: Paths): Promise<OwnStore> {
  const lock = lockHome(home);
  try {
    return ownStore(await openSqliteStore(home.database), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Returns what the home's store has lost; afterwards agents run again. Throws GOALD_ALREADY_RUNNING when a host runs. */
export async function acceptLossOf(home: Paths): Promise<readonly string[]> {
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
    role: "foreground",
  });

const ownStore = (store: Store, lock?: HostLock): OwnStore => ({
  store,
  [Symbol.asyncDispose]: async () => {
    await store.close();
    lock?.release();
  },
});
