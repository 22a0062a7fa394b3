/**
 * migrations.ts -- how the tables of an older goald become today's: one step per schema version, run in one transaction.
 */
import type { DatabaseSync } from "node:sqlite";
import { SMALL_BLOB_TABLE } from "./blobs.ts";
import { prepare } from "./connection.ts";
import { keyColumns, keyOf } from "./keys.ts";
import { overwriting } from "./memory-rows.ts";
import { asVersion3, CURATION_TABLES, MEMORY_TABLE } from "./memory-tables.ts";
import { NEXT_VECTOR_TABLE } from "./next-vectors.ts";
import { blobsIn, openReferences } from "./references.ts";

export const REFERENCE_TABLE = `
CREATE TABLE reference (                    -- see references.ts
  sha      TEXT NOT NULL,                   -- of a blob, which may not have come yet
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  PRIMARY KEY (sha, agent_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_agent ON reference (agent_no);
`;

export const FILE_VERSION_TABLE = `
CREATE TABLE file_version (${keyColumns("number")}
  agent_no  INTEGER NOT NULL REFERENCES agent (no),
  seq       INTEGER NOT NULL,               -- the event that it was committed with
  path      TEXT NOT NULL,
  operation TEXT NOT NULL,
  bytes     INTEGER NOT NULL,
  sha       TEXT,
  step      INTEGER NOT NULL,
  call_id   TEXT NOT NULL,
  at        TEXT NOT NULL
) STRICT;
CREATE INDEX file_version_path ON file_version (agent_no, path);
`;

/** By the version that they begin with. */
export const MIGRATIONS: Readonly<Record<number, (database: DatabaseSync) => void>> = {
  1: addReferences,
  2: (database) => database.exec(CURATION_TABLES),
  3: renewKeys,
};

const PAGE = 500;

function addReferences(database: DatabaseSync): void {
  database.exec(REFERENCE_TABLE);
  const { note } = openReferences(database);
  for (const [table, column] of [
    ["event", "data"],
    ["inbox", "message"],
  ] as const) {
    const read = prepare<{ readonly place: number; readonly agentNo: number; readonly text: string }>(
      database,
      `SELECT rowid AS place, agent_no AS agentNo, ${column} AS text FROM ${table}
       WHERE rowid > ? AND instr(${column}, '"blob":"') > 0 ORDER BY rowid LIMIT ${PAGE}`,
    );
    for (let page = read.all(-1); page.length > 0; page = read.all(page.at(-1)?.place ?? 0))
      for (const { agentNo, text } of page) note(agentNo, blobsIn(text));
  }
  const timers = prepare<{ readonly agentNo: number; readonly text: string }>(
    database,
    "SELECT agent_no AS agentNo, message AS text FROM timer",
  );
  for (const { agentNo, text } of timers.all()) note(agentNo, blobsIn(text));
}

/** Contents stay where they are, noted for all who refer to them. */
function renewKeys(database: DatabaseSync): void {
  database.exec(`ALTER TABLE blob ADD COLUMN owner_no INTEGER;
    ${SMALL_BLOB_TABLE}
    INSERT INTO reference (sha, agent_no) SELECT DISTINCT sha, agent_no FROM file_version
      WHERE sha IS NOT NULL ON CONFLICT DO NOTHING;`);
  const file = "agent_no, seq, path, operation, bytes, sha, step, call_id, at";
  const number = "row_number() OVER (PARTITION BY agent_no ORDER BY seq, no)";
  renew(
    database,
    "file_version",
    FILE_VERSION_TABLE,
    file,
    (old) => `SELECT ${keyOf("agent_no", number)}, ${file} FROM ${old}`,
  );
  // What is forgotten later must not be left lying where it was before.
  overwriting(database, () => renewMemories(database));
}

/** Rows keep what their commits' digests cover. Those of version 2 get the numbers of the order in which they came. */
function renewMemories(database: DatabaseSync): void {
  const isVersion2 =
    prepare(database, "SELECT 1 FROM pragma_table_info('memory') WHERE name = 'change'").get() === undefined;
  const columns = `agent_no, seq, ordinal, made, step, namespace, kind, text, text_sha, salt, importance, trust, at, supersedes,
    superseded_by, key, source, pinned, forgotten, embedder, vector`;
  renew(database, "memory", MEMORY_TABLE, `listed, ${columns}`, (old) => {
    const rows = isVersion2 ? asVersion3(old) : old;
    return `SELECT ${keyOf("agent_no", "change")}, ordinal IS NOT NULL, ${columns} FROM ${rows}`;
  });
  // Its triggers went with the table of old.
  if (prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'next_vector'").get())
    database.exec(NEXT_VECTOR_TABLE);
}

/** `rows`: of the old table, the key first. */
function renew(
  database: DatabaseSync,
  table: string,
  create: string,
  columns: string,
  rows: (old: string) => string,
): void {
  const indexes = prepare<{ readonly name: string }>(
    database,
    "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
  );
  for (const { name } of indexes.all(table)) database.exec(`DROP INDEX ${name}`);
  const old = `old_${table}`;
  database.exec(`ALTER TABLE ${table} RENAME TO ${old};
    ${create}
    INSERT INTO ${table} (no, ${columns}) ${rows(old)} ORDER BY 1;
    DROP TABLE ${old};`);
}
