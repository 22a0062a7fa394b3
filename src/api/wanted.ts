/**
 * wanted.ts -- whether a home's daemon should be there: it wrote an empty file when it was ready, and only `goald down` removes it.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "#config/home.ts";
import { isHostHeld } from "#store/host-lock.ts";

type HomePaths = Pick<Home, "privateFolder" | "lock">;

const fileOf = ({ privateFolder }: HomePaths): string => join(privateFolder, "wanted");

export const isWanted = (home: HomePaths): boolean => statSync(fileOf(home), { throwIfNoEntry: false }) !== undefined;

/** It was not asked to go down, and nobody runs the agents. One look at a file when none was ever there. */
export const hasDied = (home: HomePaths): boolean => isWanted(home) && !isHostHeld(home.lock);

/** From now on nobody revives it. */
export function forgetWanted(home: HomePaths): void {
  if (isWanted(home)) rmSync(fileOf(home), { force: true });
}
