/**
 * schema.ts -- which schema version a store has, and whether this goald may read, write or upgrade it.
 *
 * `meta.schema` is the version of the tables. `meta.min_reader` is the oldest version whose goald can read them: an
 * older goald may read a newer store as long as the newer goald allows it.
 */
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { openTransactions, prepare } from "../sql.ts";
import { APPLICATION_ID, TABLES } from "../tables.ts";

/** Changes the tables of one schema version into those of the next. Runs inside a transaction. */
export type Migration = (database: DatabaseSync) => void;

export interface Schema {
  /** In order: the first one upgrades version 1 to 2. */
  readonly migrations: readonly Migration[];
  /** The oldest schema version whose goald can read the newest tables. */
  readonly minReader: number;
}

const SCHEMA: Schema = { migrations: [], minReader: 1 };

/** Creates the tables in an empty database and upgrades an older one. Throws when this goald may not write to it. */
export function prepareSchema(database: DatabaseSync, schema: Schema = SCHEMA): void {
  if (isEmpty(database)) {
    createTables(database);
    // Moves the tables out of the WAL, whose damage then costs commits, but not the tables.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }
  requireWritable(database, schema);
  if (readVersions(database).schema < newestOf(schema)) migrate(database, schema);
}

/** Throws when this goald may not write to the store. Changes nothing. */
export function requireWritable(database: DatabaseSync, schema: Schema = SCHEMA): void {
  const { schema: found } = readVersions(database);
  if (found > newestOf(schema)) throw tooNew(found, newestOf(schema), "writes");
}

/** Throws when this goald cannot read the store. */
export function requireReadable(database: DatabaseSync, schema: Schema = SCHEMA): void {
  const { schema: found, minReader } = readVersions(database);
  const newest = newestOf(schema);
  if (minReader > newest) throw tooNew(found, newest, "reads");
  if (found < newest) throw notUpgraded(found, newest);
}

/** Opens a database in memory, for readers of a home without a store. */
export function openEmptyTables(): DatabaseSync {
  const database = new DatabaseSync(":memory:", { defensive: true });
  createTables(database);
  return database;
}

/** Creates the tables of version 1. */
export function createTables(database: DatabaseSync): void {
  openTransactions(database)(() => {
    // Another process may have created them since the caller looked.
    if (!isEmpty(database)) return;
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; ${TABLES}`);
    putVersions(database, 1, 1);
    prepare(database, "INSERT INTO meta (key, value) VALUES ('store_id', ?)").run(randomUUID());
  });
}

/** Runs all steps in one transaction: a crash leaves the store as it was. */
function migrate(database: DatabaseSync, schema: Schema): void {
  openTransactions(database)(() => {
    // Another process may have upgraded the store since the caller looked.
    requireWritable(database, schema);
    for (const step of schema.migrations.slice(readVersions(database).schema - 1)) step(database);
    putVersions(database, newestOf(schema), schema.minReader);
  });
}

const newestOf = ({ migrations }: Schema): number => 1 + migrations.length;

function putVersions(database: DatabaseSync, schema: number, minReader: number): void {
  const put = prepare(
    database,
    "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
  );
  put.run("schema", String(schema));
  put.run("min_reader", String(minReader));
}

export const isEmpty = (database: DatabaseSync): boolean =>
  prepare<{ tables: number }>(database, "SELECT count(*) AS tables FROM sqlite_schema").get()?.tables === 0;

function readVersions(database: DatabaseSync): { readonly schema: number; readonly minReader: number } {
  const read = prepare<{ value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const schema = Number(read.get("schema")?.value);
  const minReader = Number(read.get("min_reader")?.value);
  if (!Number.isInteger(schema) || !Number.isInteger(minReader) || schema < 1) throw withoutVersion();
  const id = prepare<{ application_id: number }>(database, "PRAGMA application_id").get()?.application_id;
  if (id !== APPLICATION_ID) throw unreleased(database.location() ?? "");
  return { schema, minReader };
}

const withoutVersion = (): GoaldError =>
  new GoaldError(
    "GOALD_STORE_DAMAGED",
    "Expected the version of the store in its table meta, got none: this is another program's database, or damaged.",
  );

const tooNew = (found: number, newest: number, verb: "reads" | "writes"): GoaldError =>
  new GoaldError(
    "GOALD_STORE_TOO_NEW",
    `This store has the schema version ${found}; this goald ${verb} up to ${newest}.`,
    {
      hint: "Run the goald that wrote it, or a newer one.",
    },
  );

const notUpgraded = (found: number, newest: number): GoaldError =>
  new GoaldError(
    "GOALD_STORE_TOO_OLD",
    `This store has the schema version ${found}; this goald reads version ${newest}.`,
    {
      hint: "Upgrade it by starting this goald once: goald up",
    },
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
