/**
 * shrink.ts -- giving back to the file system what a removal left empty in the database file.
 *
 * In lots, each a short transaction of its own, so that others get their turn in between. What cannot be given back
 * now, for want of room or because the store is closed, stays in the file and is used again.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { prepare } from "./connection.ts";

/** 1 MB, some ten milliseconds. */
const LOT_PAGES = 256;

export async function shrink(database: DatabaseSync): Promise<void> {
  try {
    const free = prepare<{ freelist_count: number }>(database, "PRAGMA freelist_count");
    for (let left = free.get()?.freelist_count ?? 0; left > 0; ) {
      database.exec(`PRAGMA incremental_vacuum(${LOT_PAGES})`);
      await setImmediate();
      const now = database.isOpen ? (free.get()?.freelist_count ?? 0) : 0;
      // A file of a goald that did not set auto_vacuum keeps its pages.
      left = now < left ? now : 0;
    }
  } catch {
    // See above.
  }
}
