/**
 * daemon-files.ts -- the files of a home that show which process is its host, and whether a daemon must be started
 * again.
 */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";

type HomePaths = Pick<Home, "privateFolder" | "lock">;

/**
 * Path of the file that marks a home whose daemon must be started again when it dies. The daemon writes the file;
 * `goald down` removes it, and so does a daemon that ends because nothing needs it. `goald up` writes a word into it:
 * then the daemon stays until `goald down`.
 */
const fileOf = ({ privateFolder }: Pick<Home, "privateFolder">): string => join(privateFolder, "wanted");

export const isDaemonExpected = (home: Pick<Home, "privateFolder">): boolean => existsSync(fileOf(home));

const STAYS = "stays";

/** `stays`: it does not end by itself. A daemon that is expected to stay stays so. */
export function expectDaemon(home: Pick<Home, "privateFolder">, stays: boolean): void {
  if (stays || !isDaemonExpected(home)) writeFileSync(fileOf(home), stays ? STAYS : "", { mode: 0o600 });
}

export const staysUp = (home: Pick<Home, "privateFolder">): boolean =>
  statSync(fileOf(home), { throwIfNoEntry: false })?.size === STAYS.length;

/** Prevents an automatic start of the daemon. */
export const stopExpectingDaemon = (home: Pick<Home, "privateFolder">): Promise<void> =>
  rm(fileOf(home), { force: true });

/** True when no host runs although a daemon is expected. Costs one file lookup in a home without daemons. */
export const isDaemonMissing = (home: HomePaths): boolean => isDaemonExpected(home) && !isHostHeld(home.lock);

/** True for a missing daemon that did not end in order, as after SIGTERM, since that removes its info. */
export const hasDaemonDied = (home: HomePaths) => isDaemonMissing(home) && readHostInfo(home.lock) !== undefined;

export { isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
