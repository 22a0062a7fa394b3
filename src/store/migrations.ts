/**
 * migrations.ts -- how the tables of an older goald become today's: one step per schema version, run in one transaction.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./connection.ts";
import { MEMORY_TABLES } from "./memory-rows.ts";
import { blobsIn, openReferences } from "./references.ts";

export const REFERENCE_TABLE = `
CREATE TABLE reference (                    -- see references.ts
  sha      TEXT NOT NULL,                   -- of a blob, which may not have come yet
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  PRIMARY KEY (sha, agent_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_agent ON reference (agent_no);
CREATE INDEX file_version_sha ON file_version (sha, agent_no) WHERE sha IS NOT NULL;
`;

/** By the version that they begin with. */
export const MIGRATIONS: Readonly<Record<number, (database: DatabaseSync) => void>> = {
  1: addReferences,
  2: renewMemories,
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

/** Rows keep what their commits' digests cover. Their changes are numbered in the order in which they came. */
function renewMemories(database: DatabaseSync): void {
  const columns = "agent_no, seq, ordinal, step, namespace, kind, text, importance, trust, at, embedder, vector";
  database.exec(`ALTER TABLE memory RENAME TO memory_2;
    ${MEMORY_TABLES}
    INSERT INTO memory (change, ${columns})
      SELECT row_number() OVER (PARTITION BY agent_no ORDER BY seq, ordinal), ${columns} FROM memory_2;
    DROP TABLE memory_2;`);
}
