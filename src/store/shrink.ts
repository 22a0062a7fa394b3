/**
 * shrink.ts -- returns the free pages of the database file to the file system after a removal.
 *
 * It works in short transactions and pauses between them. Pages that cannot be returned, because the disk is full or the
 * store is closed, stay in the file and are used again.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { prepare } from "./connection.ts";

/** Pages of one transaction: 1 MB, about ten milliseconds. */
const PAGES_PER_TRANSACTION = 256;

export async function shrinkFile(database: DatabaseSync): Promise<void> {
  try {
    const free = prepare<{ freelist_count: number }>(database, "PRAGMA freelist_count");
    for (let left = free.get()?.freelist_count ?? 0; left > 0; ) {
      database.exec(`PRAGMA incremental_vacuum(${PAGES_PER_TRANSACTION})`);
      await setImmediate();
      const now = database.isOpen ? (free.get()?.freelist_count ?? 0) : 0;
      // Stop when the file cannot shrink.
      left = now < left ? now : 0;
    }
  } catch {
    // The pages are used again, see above.
  }
}
