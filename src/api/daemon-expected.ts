/**
 * daemon-expected.ts -- an empty file that says: when nobody runs the agents of this home, start the daemon.
 *
 * Whoever runs agents of the background writes it; `goald down` removes it.
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

/** From now on nobody starts the daemon unasked. */
export function stopExpectingDaemon(home: Pick<Home, "privateFolder">): void {
  if (isDaemonExpected(home)) rmSync(fileOf(home), { force: true });
}

/** Nobody asked the daemon to go down, and nobody runs the agents. Costs one look at a file when no daemon ever ran. */
export const hasDaemonDied = (home: HomePaths): boolean => isDaemonExpected(home) && !isHostHeld(home.lock);
