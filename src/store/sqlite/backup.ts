/**
 * backup.ts -- writes a consistent copy of a store, also while agents run.
 *
 * SQLite copies all pages in one read transaction, which delays no writer. The copy is verified, and must have
 * everything that goald had confirmed before the copy began. Only then it gets its name.
 */
import { closeSync, lstatSync, openSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { backup, type DatabaseSync } from "node:sqlite";
import { GoaldError, orUndefined, toError } from "#core/errors.ts";
import { storeError } from "../failure.ts";
import { AGENT_COLUMNS, type AgentRecord } from "../rows.ts";
import { prepare } from "../sql.ts";
import { verifyStore } from "../verify.ts";
import { findLosses, openTables, readAnchor } from "./anchor.ts";
import { openUnchanging, syncPath } from "./connection.ts";
import { isAlive } from "./host-lock.ts";
import { requireReadable } from "./schema.ts";

export interface StoreBackup {
  readonly agents: number;
  readonly events: number;
  readonly bytes: number;
}

/** More pages than a store has, so that the copy takes one transaction. */
const ALL_PAGES = 2 ** 30;
/** Problems that an error names; `verify` names all. */
const MAX_NAMED = 5;

/** The file is private to its owner, and a link stays. Throws GOALD_CONFLICT when it exists, unless `replace` is set. */
export async function backupStore(path: string, given: string, replace: boolean): Promise<StoreBackup> {
  const target = orUndefined(() => realpathSync(given)) ?? given;
  try {
    const anchor = readAnchor(path);
    using source = openSource(path);
    const temporary = `${target}.${process.pid}.tmp`;
    try {
      createFile(temporary, target, { path, replace });
      await backup(source, temporary, { rate: ALL_PAGES });
      const copied = await checkCopy(temporary, anchor);
      syncPath(temporary);
      renameSync(temporary, target);
      syncPath(dirname(target));
      return { ...copied, bytes: statSync(target).size };
    } finally {
      removeUnfinished(target);
    }
  } catch (thrown) {
    const failure = storeError(thrown, path);
    const cause = toError(failure.cause);
    const isFull = failure.code === "GOALD_STORE_FULL";
    // SQLite reads the store: a full disk, and an error of the file system, concern the backup.
    if (!isFull && !("syscall" in cause)) throw failure;
    throw new GoaldError(isFull ? failure.code : "GOALD_FILE", `${given} cannot be written: ${cause.message}.`, {
      hint: "Name a file in a folder that is there and that you may write to, on a disk with room.",
    });
  }
}

function openSource(path: string): DatabaseSync {
  const source = openTables(path, requireReadable);
  if (source) return source;
  throw new GoaldError("GOALD_NOT_FOUND", `There is no store at ${path} yet, so there is nothing to back up.`);
}

/** Throws when the backup would replace the store at `path` or a file of it, or any file without `replace`. */
function createFile(temporary: string, target: string, { path, replace }: { path: string; replace: boolean }): void {
  const [folder, name] = [realpathSync(dirname(target)), basename(target)];
  if (folder === realpathSync(dirname(path)) && name.startsWith(basename(path)))
    throw new GoaldError("GOALD_USAGE", `Expected another file than the store's own: ${join(folder, name)}.`);
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (found && (!replace || !found.isFile()))
    throw new GoaldError("GOALD_CONFLICT", `Expected no file at ${target}, found one.`, {
      hint: found.isFile() ? "Replace it with --force, or name another file." : "A folder is there: name a file.",
    });
  removeUnfinished(target);
  closeSync(openSync(temporary, "wx", 0o600));
}

/** Removes the unfinished copies of this process, and of processes that have ended. */
function removeUnfinished(target: string): void {
  const head = `${basename(target)}.`;
  for (const entry of orUndefined(() => readdirSync(dirname(target))) ?? []) {
    const [, pid] = /^(\d+)\.tmp(?:-\w+)?$/.exec(entry.slice(head.length)) ?? [];
    if (!entry.startsWith(head) || pid === undefined) continue;
    if (Number(pid) === process.pid || !isAlive(Number(pid))) rmSync(join(dirname(target), entry), { force: true });
  }
}

async function checkCopy(path: string, anchor: ReturnType<typeof readAnchor>): Promise<Omit<StoreBackup, "bytes">> {
  using copy = openUnchanging(path);
  const rows = prepare<AgentRecord>(copy, `SELECT ${AGENT_COLUMNS} ORDER BY agent.no`).all();
  const report = await verifyStore(copy, rows, true);
  const problems = [...(anchor ? findLosses(copy, anchor) : []), ...report.problems];
  if (problems.length === 0) return { agents: report.agents, events: report.events };
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store is damaged, so no backup was written. ${problems.slice(0, MAX_NAMED).join(" ")} List all damage: goald verify`,
    { hint: "Stop goald and copy the folder .goald instead, then see docs/recovery.md." },
  );
}
