/** cage-levels.ts -- the levels of cage that this machine has, best first. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CageFinding, CageLevel } from "#cage/cage.ts";

const LEVELS = ["strict", "degraded", "off"] as const satisfies readonly CageLevel[];
const FIND = 'import { findCage } from "#cage/find-cage.ts"; console.log(JSON.stringify(await findCage()));';

/**
 * Warns when the machine has no strict cage: tests then run in the levels that it has. A process of its own finds them,
 * because Jest needs the tables of tests before it waits for anything.
 */
export function findLevelsHere(): readonly CageLevel[] {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const found = execFileSync(process.execPath, ["--input-type=module", "-e", FIND], { cwd, encoding: "utf8" });
  const { level, reason, advice } = JSON.parse(found) as CageFinding;
  if (level !== "strict")
    console.warn(`No strict cage here, so tests run in a cage that is ${level}. ${reason} ${advice}`);
  return LEVELS.slice(LEVELS.indexOf(level));
}
