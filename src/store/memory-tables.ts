/**
 * memory-tables.ts -- the tables of memory and of what people changed there, and how those of an older goald are read.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { hasKeys, keyColumns, keysAfter } from "./keys.ts";

/** In place of an agent's number. */
export const SHARED_NO = 0;

/** `name`: the id without the namespace. No reference to `agent`, because the shared memory belongs to none. */
export const MEMORY_TABLE = `
CREATE TABLE memory (${keyColumns("change")}
  agent_no      INTEGER NOT NULL,           -- ${SHARED_NO}: shared
  seq           INTEGER NOT NULL,           -- the event that it came with, or after
  ordinal       INTEGER,                    -- 0: the event's own memory; 1 and up: staged with it; null: put there by a person
  made          INTEGER,                    -- number of those that a person put there
  name          TEXT NOT NULL AS (CASE WHEN ordinal IS NULL THEN '+' || made WHEN ordinal = 0 THEN CAST(seq AS TEXT)
                                  ELSE seq || '.' || ordinal END),
  listed        INTEGER NOT NULL DEFAULT 0, -- 1: came with an event, and does not lie where that would have it
  step          INTEGER,
  namespace     TEXT NOT NULL,
  kind          TEXT NOT NULL,
  text          TEXT NOT NULL,
  text_sha      TEXT,                       -- of salt and text; null where the digest covers the text itself (version 2)
  salt          TEXT,                       -- goes with the text
  importance    REAL NOT NULL,
  trust         TEXT NOT NULL,
  at            TEXT NOT NULL,
  supersedes    TEXT,                       -- name
  superseded_by TEXT,                       -- name
  key           TEXT,
  source        TEXT,
  pinned        INTEGER NOT NULL DEFAULT 0,
  forgotten     TEXT,
  embedder      TEXT,
  vector        BLOB                        -- float32, little endian
) STRICT;
CREATE UNIQUE INDEX memory_listed ON memory (agent_no, seq, ordinal) WHERE listed = 1;
CREATE INDEX memory_anchor ON memory (agent_no, seq, ordinal) WHERE listed = 0 AND ordinal IS NOT NULL AND no & 63 = 0;
CREATE UNIQUE INDEX memory_made ON memory (agent_no, made) WHERE made IS NOT NULL;
CREATE INDEX memory_key ON memory (agent_no, key) WHERE key IS NOT NULL;
`;

export const CURATION_TABLES = `
CREATE TABLE curation (                     -- what people changed in a namespace: a chain of its own
  agent_no INTEGER NOT NULL,
  no       INTEGER NOT NULL,
  key      TEXT NOT NULL,
  data     TEXT NOT NULL,                   -- canonical JSON, see curate.ts
  sha      TEXT NOT NULL,                   -- its link in the chain
  PRIMARY KEY (agent_no, no),
  UNIQUE (agent_no, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE curated (                      -- the end of that chain
  agent_no INTEGER PRIMARY KEY,
  no       INTEGER NOT NULL,
  sha      TEXT NOT NULL
) STRICT;
`;

/** What a row of version 2 lacks, so that a store can be read before it is brought up to date. */
export const asVersion3 = (
  table: string,
): string => `(SELECT *, row_number() OVER (PARTITION BY agent_no ORDER BY seq, ordinal) AS change,
  NULL AS made, NULL AS text_sha, NULL AS salt, NULL AS supersedes, NULL AS superseded_by, NULL AS key, NULL AS source,
  0 AS pinned, NULL AS forgotten,
  CASE ordinal WHEN 0 THEN CAST(seq AS TEXT) ELSE seq || '.' || ordinal END AS name FROM ${table})`;

export const hasCurations = (database: DatabaseSync): boolean =>
  prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'curation'").get() !== undefined;

/** What stands behind FROM. */
export const memoryTable = (database: DatabaseSync): string =>
  hasCurations(database) ? "memory" : asVersion3("memory");

/** What stands behind WHERE for the rows of a namespace (`?1`) in the order of their changes, those after `?2`. */
export const memoriesAfter = (database: DatabaseSync, also = ""): string =>
  hasKeys(database)
    ? `no ${keysAfter("?1", "?2")} ${also} ORDER BY no`
    : `agent_no = ?1 AND change > ?2 ${also} ORDER BY change`;
