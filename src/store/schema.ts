/**
 * schema.ts -- the tables, and which versions of goald may read and write them.
 *
 * Truth: agent, event, eventless, inbox, memory, curation, file_version, blob, timer; a snapshot only spares refolding, and
 * `reference` says again which blobs an agent's events and messages name.
 * Times are ISO 8601 in UTC, so that text order is time order. `meta.min_reader` lets an
 * older goald read what a newer one wrote, as long as the newer one says that it can.
 */
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { SMALL_BLOB_TABLE } from "./blobs.ts";
import { prepare, transactions } from "./connection.ts";
import { CURATION_TABLES, MEMORY_TABLE } from "./memory-tables.ts";
import { FILE_VERSION_TABLE, MIGRATIONS, REFERENCE_TABLE } from "./migrations.ts";

/** Raise with every change of the tables, and say in migrations.ts how older ones become new. */
const SCHEMA_VERSION = 4;
/** The oldest schema version whose readers can read this one. */
const MIN_READER = 4;

const TABLES = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
  no         INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  create_key TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  folder     TEXT NOT NULL UNIQUE,
  parent_no  INTEGER REFERENCES agent (no),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  head       INTEGER NOT NULL,              -- seq of the last event
  head_sha   TEXT NOT NULL,                 -- its link in the chain
  epoch      INTEGER NOT NULL DEFAULT 0,
  seal       TEXT NOT NULL,                 -- hash of what changes with a claim only, see seal.ts
  wake_at    TEXT                           -- not indexed: it changes with every commit, and agents are few
) STRICT;

CREATE TABLE event (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,
  data     TEXT NOT NULL,                   -- canonical JSON
  rows_sha TEXT,                            -- of a commit's last event: the digest of the rows that came with it
  sha      TEXT NOT NULL,                   -- its link in the chain
  PRIMARY KEY (agent_no, seq)
) STRICT;

CREATE TABLE eventless (                    -- commits that consumed messages and appended nothing: links between events
  no       INTEGER PRIMARY KEY,
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,                -- the event that it came after
  keys     TEXT NOT NULL,                   -- of the messages, as canonical JSON
  sha      TEXT NOT NULL
) STRICT;
CREATE INDEX eventless_agent ON eventless (agent_no, seq);

CREATE TABLE inbox (
  no          INTEGER PRIMARY KEY,          -- order of delivery
  agent_no    INTEGER NOT NULL REFERENCES agent (no),
  key         TEXT NOT NULL,
  at          TEXT NOT NULL,
  message     TEXT NOT NULL,
  consumed_by INTEGER,                      -- head after the commit that consumed it; kept, so that the key stays known
  UNIQUE (agent_no, key)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (agent_no, at) WHERE consumed_by IS NULL;

CREATE TABLE snapshot (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  data     TEXT NOT NULL,
  sha      TEXT NOT NULL,                   -- of data
  PRIMARY KEY (agent_no, seq)
) STRICT;

-- See blobs.ts; owner_no: the agent that wrote it first, no reference to it because it may be gone
CREATE TABLE blob (sha TEXT PRIMARY KEY, bytes BLOB NOT NULL, owner_no INTEGER) STRICT;

CREATE TABLE timer (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  key      TEXT NOT NULL,
  at       TEXT NOT NULL,
  message  TEXT NOT NULL,
  PRIMARY KEY (agent_no, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_at ON timer (at);
${SMALL_BLOB_TABLE}${FILE_VERSION_TABLE}${MEMORY_TABLE}${CURATION_TABLES}${REFERENCE_TABLE}`;

/** Creates the tables in an empty database, or brings those of an older goald up to date, or says that it may not. */
export function prepareSchema(database: DatabaseSync): void {
  if (isEmpty(database)) createTables(database);
  const { schema } = readVersions(database);
  if (schema > SCHEMA_VERSION) throw tooNew(schema, "writes");
  if (schema < SCHEMA_VERSION) migrate(database);
}

/** True when there is something to read; false for a database that nobody has put tables into yet. */
export function isReadable(database: DatabaseSync): boolean {
  if (isEmpty(database)) return false;
  const { schema, minReader } = readVersions(database);
  if (minReader > SCHEMA_VERSION) throw tooNew(schema, "reads");
  return true;
}

export function createTables(database: DatabaseSync): void {
  transactions(database)(() => {
    // Another process may have been faster.
    if (!isEmpty(database)) return;
    database.exec(TABLES);
    putVersions(database);
  });
}

/** All steps in one transaction: a crash leaves the old tables as they were. */
function migrate(database: DatabaseSync): void {
  transactions(database)(() => {
    // Another process may have been faster, and newer.
    const { schema } = readVersions(database);
    if (schema > SCHEMA_VERSION) throw tooNew(schema, "writes");
    for (let version = schema; version < SCHEMA_VERSION; version++) MIGRATIONS[version]?.(database);
    putVersions(database);
  });
}

function putVersions(database: DatabaseSync): void {
  const put = prepare(
    database,
    "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
  );
  put.run("schema", String(SCHEMA_VERSION));
  put.run("min_reader", String(MIN_READER));
}

const isEmpty = (database: DatabaseSync): boolean =>
  prepare<{ tables: number }>(database, "SELECT count(*) AS tables FROM sqlite_schema").get()?.tables === 0;

function readVersions(database: DatabaseSync): { readonly schema: number; readonly minReader: number } {
  const read = prepare<{ value: string }>(database, "SELECT value FROM meta WHERE key = ?");
  const schema = Number(read.get("schema")?.value);
  const minReader = Number(read.get("min_reader")?.value);
  if (Number.isInteger(schema) && Number.isInteger(minReader)) return { schema, minReader };
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    "Expected the version of the store in its table meta, got none: this is another program's database, or damaged.",
  );
}

const tooNew = (version: number, verb: "reads" | "writes"): GoaldError =>
  new GoaldError(
    "GOALD_STORE_TOO_NEW",
    `This store has the schema version ${version}; this goald ${verb} up to ${SCHEMA_VERSION}.`,
    { hint: "Run the goald that wrote it, or a newer one." },
  );
