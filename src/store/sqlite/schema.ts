/**
 * schema.ts -- which schema version a store has, and whether this goald may read or write it.
 *
 * `meta.schema` is the version of the tables. `meta.min_reader` is the oldest version whose goald can read them: an
 * older goald may read a newer store as long as the newer goald allows it.
 */
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { openTransactions, prepare } from "../sql.ts";
import { APPLICATION_ID, TABLES } from "../tables.ts";

/** The version of the tables that this goald writes; there is no older one. */
const VERSION = 1;

/** Creates the tables in an empty database. Throws when this goald may not write to it. */
export function prepareSchema(database: DatabaseSync): void {
  if (isEmpty(database)) {
    createTables(database);
    // Moves the tables out of the WAL, whose damage then costs commits, but not the tables.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }
  requireWritable(database);
}

/** Throws when this goald may not write to the store. Changes nothing. */
export function requireWritable(database: DatabaseSync): void {
  const { schema } = readVersions(database);
  if (schema > VERSION) throw tooNew(schema, "writes");
}

/** Throws when this goald cannot read the store. */
export function requireReadable(database: DatabaseSync): void {
  const { schema, minReader } = readVersions(database);
  if (minReader > VERSION) throw tooNew(schema, "reads");
}

/** Opens a database in memory, for readers of a home without a store. */
export function openEmptyTables(): DatabaseSync {
  const database = new DatabaseSync(":memory:", { defensive: true });
  createTables(database);
  return database;
}

/** Creates the tables, which every goald since this version can read. */
export function createTables(database: DatabaseSync): void {
  openTransactions(database)(() => {
    // Another process may have created them since the caller looked.
    if (!isEmpty(database)) return;
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; ${TABLES}`);
    const put = prepare(database, "INSERT INTO meta (key, value) VALUES (?, ?)");
    put.run("schema", String(VERSION));
    put.run("min_reader", String(VERSION));
    put.run("store_id", randomUUID());
  });
}

export const isEmpty = (database: DatabaseSync): boolean =>
  prepare<{ tables: number }>(database, "SELECT count(*) AS tables FROM sqlite_schema").get()?.tables === 0;

function readVersions(database: DatabaseSync): { readonly schema: number; readonly minReader: number } {
  const read = prepare<{ value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const schema = Number(read.get("schema")?.value);
  const minReader = Number(read.get("min_reader")?.value);
  if (!Number.isInteger(schema) || !Number.isInteger(minReader) || schema < 1)
    throw new GoaldError(
      "GOALD_STORE_DAMAGED",
      "Expected the version of the store in its table meta, got none: this is another program's database, or damaged.",
    );
  const id = prepare<{ application_id: number }>(database, "PRAGMA application_id").get()?.application_id;
  if (id !== APPLICATION_ID) throw unreleased(database.location() ?? "");
  return { schema, minReader };
}

const tooNew = (found: number, verb: "reads" | "writes"): GoaldError =>
  new GoaldError(
    "GOALD_STORE_TOO_NEW",
    `This store has the schema version ${found}; this goald ${verb} up to ${VERSION}.`,
    { hint: "Run the goald that wrote it, or a newer one." },
  );

/** Goalds before the first release noted versions 1 to 4 in `meta.schema`, and no application id or another one. */
function unreleased(path: string): GoaldError {
  const quoted = `'${path.replaceAll("'", "'\\''")}'`;
  return new GoaldError(
    "GOALD_STORE_TOO_OLD",
    `The store ${path} was made by a goald before the first release and cannot be read.`,
    { hint: `Move it to another folder: mkdir old-store && mv ${quoted}* old-store/` },
  );
}
