/** wanted.ts -- whether a home's daemon should be running: it creates an empty file at its start, which only `goald down` removes. */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { isHostHeld } from "#store/host-lock.ts";

type HomePaths = Pick<Home, "privateFolder" | "lock">;

const fileOf = ({ privateFolder }: HomePaths): string => join(privateFolder, "wanted");

export const isWanted = (home: HomePaths): boolean => statSync(fileOf(home), { throwIfNoEntry: false }) !== undefined;

/** The daemon should be running, and no process holds the lock. */
export const hasDied = (home: HomePaths): boolean => isWanted(home) && !isHostHeld(home.lock);

/** From now on the daemon is not revived. */
export function forgetWanted(home: HomePaths): void {
  if (isWanted(home)) rmSync(fileOf(home), { force: true });
}
