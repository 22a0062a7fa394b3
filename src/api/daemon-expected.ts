/**
 * daemon-expected.ts -- an empty file that marks a home whose daemon must be started when no host runs its agents.
 *
 * A host with background agents writes it; `goald down` removes it.
 */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { isHostHeld } from "#store/host-lock.ts";

type HomePaths = Pick<Home, "privateFolder" | "lock">;

const fileOf = ({ privateFolder }: Pick<Home, "privateFolder">): string => join(privateFolder, "wanted");

export const isDaemonExpected = (home: Pick<Home, "privateFolder">): boolean =>
  statSync(fileOf(home), { throwIfNoEntry: false }) !== undefined;

export const expectDaemon = (home: Pick<Home, "privateFolder">): void =>
  writeFileSync(fileOf(home), "", { mode: 0o600 });

/** Prevents an automatic start of the daemon. */
export function stopExpectingDaemon(home: Pick<Home, "privateFolder">): void {
  if (isDaemonExpected(home)) rmSync(fileOf(home), { force: true });
}

/** True when no host runs although a daemon is expected. Costs one file lookup in a home without daemons. */
export const hasDaemonDied = (home: HomePaths): boolean => isDaemonExpected(home) && !isHostHeld(home.lock);
