/**
 * memory-rows.ts -- rows of memory: how they are named, written, and bound to what they came with.
 *
 * A row that came with an event has that event's number and an ordinal, and its commit's digest covers it. One that a person
 * put there is numbered by `made`, and the chain of curations covers it (curate.ts). Either way it is covered by a salted hash
 * of its text, not by the text, so that a text can be purged for good and what is left of the row be checked still.
 * `change` is counted per namespace: every row has the number of its last change.
 */
import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { GoaldError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Commit, NewMemory, StagedWrite } from "#core/ports.ts";
import { wellFormed } from "#core/text.ts";
import { sha256 } from "./chain.ts";
import type { RowValues } from "./commit-rows.ts";
import { prepare } from "./connection.ts";
import { missing } from "./failure.ts";
import { nameOf, nameOfRow } from "./rows.ts";

/** In place of an agent's number. */
export const SHARED_NO = 0;

/** `name`: the id without the namespace. No reference to `agent`, because the shared memory belongs to none. */
export const MEMORY_TABLES = `
CREATE TABLE memory (
  agent_no      INTEGER NOT NULL,           -- ${SHARED_NO}: shared
  seq           INTEGER NOT NULL,           -- the event that it came with, or after
  ordinal       INTEGER,                    -- 0: the event's own memory; 1 and up: staged with it; null: put there by a person
  made          INTEGER,                    -- number of those that a person put there
  name          TEXT NOT NULL AS (CASE WHEN ordinal IS NULL THEN '+' || made WHEN ordinal = 0 THEN CAST(seq AS TEXT)
                                  ELSE seq || '.' || ordinal END),
  change        INTEGER NOT NULL,
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
CREATE UNIQUE INDEX memory_name ON memory (agent_no, name);
CREATE UNIQUE INDEX memory_change ON memory (agent_no, change);
CREATE INDEX memory_event ON memory (agent_no, seq, ordinal) WHERE ordinal IS NOT NULL;
CREATE UNIQUE INDEX memory_made ON memory (agent_no, made) WHERE made IS NOT NULL;
CREATE INDEX memory_key ON memory (agent_no, key) WHERE key IS NOT NULL;

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
const AS_VERSION_3 = `(SELECT *, row_number() OVER (PARTITION BY agent_no ORDER BY seq, ordinal) AS change,
  NULL AS made, NULL AS text_sha, NULL AS salt, NULL AS supersedes, NULL AS superseded_by, NULL AS key, NULL AS source,
  0 AS pinned, NULL AS forgotten,
  CASE ordinal WHEN 0 THEN CAST(seq AS TEXT) ELSE seq || '.' || ordinal END AS name FROM memory)`;

export const hasCurations = (database: DatabaseSync): boolean =>
  prepare(database, "SELECT 1 FROM sqlite_schema WHERE name = 'curation'").get() !== undefined;

/** What stands behind FROM. */
export const memoryTable = (database: DatabaseSync): string => (hasCurations(database) ? "memory" : AS_VERSION_3);

/** An event, as far as what rides with it needs it. */
export interface EventPlace {
  readonly seq: number;
  readonly at: string;
  readonly step: number;
}

export interface NewRow {
  readonly seq: number;
  readonly ordinal: number | null;
  readonly made: number | null;
  readonly step: number | null;
  readonly namespace: string;
  readonly kind: string;
  readonly text: string;
  readonly textSha: string;
  readonly salt: string;
  readonly importance: number;
  readonly trust: string;
  readonly at: string;
  readonly supersedes: string | null;
  readonly key: string | null;
  readonly source: string | null;
}

/** Hashed as they stand here: DIGESTED has the same columns in the same order. */
export const digestedValues = (row: NewRow): RowValues => [
  row.seq,
  row.ordinal,
  row.step,
  row.namespace,
  row.kind,
  row.textSha,
  row.importance,
  row.trust,
  row.at,
  row.supersedes,
  row.key,
  row.source,
];
export const DIGESTED =
  "seq, ordinal, step, namespace, kind, text_sha, importance, trust, at, supersedes, key, source" as const;

const SALT_BYTES = 12;
/** Drawn for many salts at once: a draw costs as much as the rest of a row. */
let drawn = Buffer.alloc(0);

export function newSalt(): string {
  if (drawn.length < SALT_BYTES) drawn = randomBytes(128 * SALT_BYTES);
  const salt = drawn.toString("base64", 0, SALT_BYTES);
  drawn = drawn.subarray(SALT_BYTES);
  return salt;
}
export const textShaOf = (salt: string, text: string): string => sha256(salt + text);

/** The rows of a commit: an event's own memory has the ordinal 0; those that were staged with it come after. */
export function memoriesOf({ memories, staged, events }: Commit, agent: string, result: EventPlace): readonly NewRow[] {
  const toRow = (memory: NewMemory, ordinal: number): NewRow => {
    const { at } = events.find(({ seq }) => seq === memory.seq) ?? strayMemory(memory.seq);
    if (memory.namespace !== agent) throw strayNamespace(memory.namespace, agent);
    return { ...memory, ...contentOf(memory, agent), ordinal, made: null, at };
  };
  return [
    ...memories.map((memory) => toRow(memory, 0)),
    ...staged
      .filter((write) => write.kind === "memory")
      .map((write, index) => toRow(stagedMemory(write, agent, result), index + 1)),
  ];
}

/** What a row says, in the form in which the tables have it. */
export function contentOf(
  { text, supersedes, key, source }: Pick<NewMemory, "text" | "supersedes" | "key" | "source">,
  namespace: string,
): Pick<NewRow, "text" | "salt" | "textSha" | "supersedes" | "key" | "source"> {
  const salt = newSalt();
  const said = wellFormed(text);
  return {
    text: said,
    salt,
    textSha: textShaOf(salt, said),
    supersedes: supersedes === undefined ? null : (nameOf(namespace, supersedes) ?? noMemory(supersedes)),
    key: key ?? null,
    source: source === undefined ? null : wellFormed(source),
  };
}

/** Writes a row with the next change of its namespace; what it supersedes gets one too. Returns whether it superseded something. */
export type InsertRow = (agentNo: number, row: NewRow) => boolean;

export function openMemoryInsert(database: DatabaseSync): InsertRow {
  const change = "(SELECT coalesce(max(change), 0) + 1 FROM memory WHERE agent_no = ?1)";
  const insert = prepare(
    database,
    `INSERT INTO memory (agent_no, change, made, text, salt, ${DIGESTED})
     VALUES (?1, ${change}, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`,
  );
  const supersede = prepare(
    database,
    `UPDATE memory SET superseded_by = ?2, change = ${change}
     WHERE agent_no = ?1 AND name = ?3 AND superseded_by IS NULL AND forgotten IS NULL`,
  );
  return (agentNo, row) => {
    insert.run(agentNo, row.made, row.text, row.salt, ...digestedValues(row));
    return row.supersedes !== null && supersede.run(agentNo, nameOfRow(row), row.supersedes) === 1;
  };
}

/** The number that stands for a namespace in the tables. Throws GOALD_NOT_FOUND. */
export function openNamespaces(database: DatabaseSync): (namespace: string) => number {
  const find = prepare<{ readonly no: number }>(database, "SELECT no FROM agent WHERE id = ?");
  return (namespace) => (namespace === SHARED_MEMORY ? SHARED_NO : (find.get(namespace) ?? missing(namespace)).no);
}

export function stagedMemory(
  { text, importance, memoryKind, supersedes }: Extract<StagedWrite, { kind: "memory" }>,
  agent: string,
  { seq, step }: EventPlace,
): NewMemory {
  const row: NewMemory = { seq, step, namespace: agent, kind: memoryKind, text, importance, trust: "agent" };
  return supersedes === undefined ? row : { ...row, supersedes };
}

export function strayMemory(seq: number): never {
  throw new GoaldError("GOALD_INTERNAL", `Expected a memory of an event of its own commit, got one of event ${seq}.`);
}

const strayNamespace = (namespace: string, agent: string): GoaldError =>
  new GoaldError("GOALD_INTERNAL", `Expected a memory of ${agent} with its commit, got one of ${namespace}.`);

export function noMemory(id: string): never {
  throw new GoaldError("GOALD_NOT_FOUND", `Expected a memory ${JSON.stringify(id)}, found none.`, {
    hint: "List those that are there: goald memory <agent> list",
  });
}
