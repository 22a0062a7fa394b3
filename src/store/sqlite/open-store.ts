/** open-store.ts -- opens the store of a home for its host, or for reading. */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import type { Store, StoreReader } from "#core/ports/store.ts";
import { wrapStoreErrors } from "../failure.ts";
import { openReader } from "../reader.ts";
import { openStore } from "../store.ts";
import { openDirectWriter, type StoreWriter } from "../writes.ts";
import { Anchor, acceptLoss, openTables, requireNothingLost } from "./anchor.ts";
import { openForWriting } from "./connection.ts";
import { openEmptyTables, prepareSchema, requireReadable, requireWritable } from "./schema.ts";

export interface SqliteStoreOptions {
  /** Maximum time to wait for another writer. */
  readonly busyTimeoutMs?: number;
}

/** Creates the file, readable by its owner only, and its folder. Writes run in the calling thread. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  return openStoreWith(path, options, (database, anchor) => openDirectWriter(database, path, anchor));
}

export function openStoreWith(
  path: string,
  options: SqliteStoreOptions,
  openWriter: (database: DatabaseSync, anchor: Anchor) => StoreWriter,
): Store {
  return wrapStoreErrors(path, () => {
    requireWritableFile(path);
    const database = openForWriting(path, options.busyTimeoutMs);
    try {
      prepareSchema(database);
      const anchor = new Anchor(database, path);
      anchor.renew(database);
      return openStore(database, path, requireSameFiles(path, openWriter(database, anchor)));
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Checks through a read-only connection, because a writing one would change the WAL of a store that we refuse. */
function requireWritableFile(path: string): void {
  const database = openTables(path, (found) => {
    requireWritable(found);
    requireNothingLost(found, path);
  });
  database?.close();
}

/**
 * Accepts that the store has lost confirmed commits: the agents continue from what is left. Returns what was lost. The
 * caller holds the host lock. Throws GOALD_STORE_DAMAGED when not even its tables are left.
 */
export async function acceptStoreLoss(path: string): Promise<readonly string[]> {
  return wrapStoreErrors(path, () => {
    const found = openTables(path, requireWritable);
    if (!found) return [];
    found.close();
    using database = openForWriting(path);
    prepareSchema(database);
    return acceptLoss(database, path);
  });
}

/** Returns an empty reader for a home whose store has no tables yet. Throws GOALD_STORE_DAMAGED when it has lost them. */
export async function openSqliteReader(path: string): Promise<StoreReader> {
  return wrapStoreErrors(path, () => {
    const database = openTables(path, requireReadable);
    // Without a path of its own, it does not miss what another process writes to the store later.
    if (!database) return openReader(openEmptyTables(), ":memory:");
    try {
      return openReader(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** The -wal contains the latest commits. */
const SUFFIXES = ["", "-wal"] as const;

type FileIdentity = string | "gone" | "unknown";

/**
 * Returns the writer with a check before each write: throws GOALD_STORE_DAMAGED when the files at `path` have changed.
 * When somebody removes, moves or replaces the file under a running host, SQLite continues to write to the old file,
 * which is lost when the process ends. A path that cannot be checked now counts as unchanged.
 */
export function requireSameFiles(path: string, writer: StoreWriter): StoreWriter {
  const files = SUFFIXES.map((suffix) => path + suffix).map((file) => ({ file, opened: identityOf(file) }));
  return {
    write: async (name, ...args) => {
      for (const { file, opened } of files) requireSame(file, opened);
      return writer.write(name, ...args);
    },
    close: () => writer.close(),
  };
}

function requireSame(file: string, opened: FileIdentity): void {
  if (opened === "gone" || opened === "unknown") return;
  const found = identityOf(file);
  if (found === opened || found === "unknown") return;
  const change = found === "gone" ? "does not exist any more" : "is another file now";
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store was opened at ${file}, which ${change}. goald has stopped writing to it.`,
    {
      hint: `If the file was moved, put it back and the agents continue. If it was removed, copy it from process ${process.pid} before that ends (on Linux: ls -l /proc/${process.pid}/fd).`,
    },
  );
}

function identityOf(file: string): FileIdentity {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : "gone";
  } catch {
    return "unknown";
  }
}
