/**
 * Swaps a folder of a workspace for a link to a folder outside, and back, until its input ends. Then prints how often.
 * For each unfinished folder of the workspace, it copies a prepared repository to the same name outside.
 */
import { cpSync, mkdirSync, readdirSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";

const [workspace = "", outside = ""] = process.argv.slice(2);
const [folder, away] = [join(workspace, "work"), join(workspace, "away")];
const MAX_WAITS = 20;
let waits = 0;
let swaps = 0;
let isLink = false;
let isOver = false;
const planted = new Set<string>();

function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

/** goald may have made a folder at the place in the meantime. */
const clearPlace = (): boolean =>
  attempt(() => unlinkSync(folder)) || attempt(() => renameSync(folder, join(workspace, `junk-${swaps}`)));

/** Copies the prepared repository to the name of each unfinished folder. */
function plant(): void {
  for (const name of unfinishedIn(away).filter((entry) => !planted.has(entry)))
    if (attempt(() => cpSync(join(outside, "prepared"), join(outside, name), { recursive: true }))) planted.add(name);
}

/** Until a random time after the pack came: a link would only make git fail while it still fetches. */
function isFetching(): boolean {
  const [name] = unfinishedIn(folder);
  if (name === undefined) return false;
  if (waits > 0) return --waits > 0;
  let names: readonly string[] = [];
  attempt(() => (names = readdirSync(join(folder, name, ".git/objects/pack"))));
  if (names.some((entry) => entry.endsWith(".idx"))) waits = 1 + Math.floor(Math.random() * MAX_WAITS);
  return true;
}

function unfinishedIn(place: string): readonly string[] {
  let names: readonly string[] = [];
  attempt(() => (names = readdirSync(place).filter((entry) => entry.startsWith(".goald-"))));
  return names;
}

function swap(): void {
  if (isOver) {
    process.stdout.write(`${swaps}\n`);
    return;
  }
  if (isLink) {
    clearPlace();
    isLink = !attempt(() => renameSync(away, folder));
  } else if (!isFetching() && attempt(() => renameSync(folder, away))) {
    plant();
    while (!attempt(() => symlinkSync(outside, folder))) clearPlace();
    isLink = true;
  }
  swaps++;
  // Long enough for git to start in the prepared repository.
  setTimeout(swap, isLink && planted.size > 0 ? 30 : 1);
}

process.stdin.on("end", () => {
  isOver = true;
});
process.stdin.resume();
mkdirSync(folder, { recursive: true });
process.stdout.write("ready\n");
swap();
