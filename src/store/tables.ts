/**
 * tables.ts -- the tables of schema version 1.
 *
 * Times are ISO 8601 in UTC, so that text order is time order. Snapshots can be rebuilt from the log; every
 * other table is a source of truth.
 */

/** `PRAGMA application_id` of a goald store: "goad" in ASCII. */
export const APPLICATION_ID = 0x676f6164;

/** Stands for an agent's number in rows of the shared memory. */
export const SHARED_NO = 0;

const AGENT_TABLES = `
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
  seal       TEXT NOT NULL,                 -- hash of the columns that only a claim changes, see chain.ts
  stored     INTEGER NOT NULL DEFAULT 0,    -- bytes of blobs that its commits added, for its quota
  wake_at    TEXT                           -- not indexed: it changes with every commit, and agents are few
) STRICT;

CREATE TABLE event (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,
  data     TEXT NOT NULL,                   -- canonical JSON
  rows_sha TEXT,                            -- on a commit's last event: digest of the rows committed with it
  sha      TEXT NOT NULL,                   -- its link in the chain
  PRIMARY KEY (agent_no, seq)
) STRICT;

CREATE TABLE eventless (                    -- commits that consumed messages and appended nothing: links between events
  no       INTEGER PRIMARY KEY,
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,                -- the event before it
  keys     TEXT NOT NULL,                   -- keys of the messages, canonical JSON
  sha      TEXT NOT NULL
) STRICT;
CREATE INDEX eventless_agent ON eventless (agent_no, seq);

CREATE TABLE inbox (
  no          INTEGER PRIMARY KEY,          -- order of delivery
  agent_no    INTEGER NOT NULL REFERENCES agent (no),
  key         TEXT NOT NULL,
  at          TEXT NOT NULL,
  message     TEXT NOT NULL,
  consumed_by INTEGER,                      -- head after the consuming commit; the row stays, so that its key stays known
  UNIQUE (agent_no, key)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (agent_no, at) WHERE consumed_by IS NULL;

CREATE TABLE snapshot (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  seq      INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  data     TEXT NOT NULL,
  sha      TEXT NOT NULL,                   -- hash of version, data and the link of event seq
  PRIMARY KEY (agent_no, seq)
) STRICT;

CREATE TABLE timer (
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  key      TEXT NOT NULL,
  at       TEXT NOT NULL,
  message  TEXT NOT NULL,
  PRIMARY KEY (agent_no, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_at ON timer (at);
`;

const CONTENT_TABLES = `
CREATE TABLE blob (sha TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

CREATE TABLE reference (                    -- blobs of an agent that no row of file_version names, see log.ts
  sha      TEXT NOT NULL,                   -- of a blob, which may not have been written yet
  agent_no INTEGER NOT NULL REFERENCES agent (no),
  PRIMARY KEY (sha, agent_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX reference_agent ON reference (agent_no);

CREATE TABLE file_version (
  agent_no  INTEGER NOT NULL REFERENCES agent (no),
  seq       INTEGER NOT NULL,               -- the event that it was committed with
  ordinal   INTEGER NOT NULL,               -- from 0 within the event
  path      TEXT NOT NULL,
  operation TEXT NOT NULL,
  bytes     INTEGER NOT NULL,
  sha       TEXT,
  step      INTEGER NOT NULL,
  call_id   TEXT NOT NULL,
  at        TEXT NOT NULL,
  outside   TEXT,                           -- JSON list of sources, null for none
  PRIMARY KEY (agent_no, seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_version_path ON file_version (agent_no, path);
CREATE INDEX file_version_outside ON file_version (agent_no, path, outside) WHERE outside IS NOT NULL;
CREATE INDEX file_version_sha ON file_version (sha) WHERE sha IS NOT NULL;
`;

/**
 * `memory.agent_no` and `curation.agent_no` have no foreign key: the shared memory belongs to no agent. The rows of
 * `remote`, which may be in remote indexes, outlive the removal of an agent: what was sent must still be deleted.
 */
const MEMORY_TABLES = `
CREATE TABLE memory (
  no            INTEGER PRIMARY KEY,
  agent_no      INTEGER NOT NULL,           -- ${SHARED_NO}: shared
  change        INTEGER NOT NULL,           -- number of its last change within the namespace
  seq           INTEGER NOT NULL,           -- the event that it was committed with; of a person's row, the last event before it
  ordinal       INTEGER,                    -- 0: made from the event; 1 and up: its pieces, and rows staged with it; null: added by a person
  made          INTEGER,                    -- number of a row that a person added
  name          TEXT NOT NULL AS (CASE WHEN ordinal IS NULL THEN '+' || made WHEN ordinal = 0 THEN CAST(seq AS TEXT)
                                  ELSE seq || '.' || ordinal END), -- its id without the namespace
  step          INTEGER,
  namespace     TEXT NOT NULL,
  kind          TEXT NOT NULL,
  text          TEXT NOT NULL,
  text_sha      TEXT NOT NULL,              -- hash of salt and text
  salt          TEXT,                       -- removed with the text
  importance    REAL NOT NULL,
  trust         TEXT NOT NULL,
  at            TEXT NOT NULL,
  supersedes    TEXT,                       -- name
  superseded_by TEXT,                       -- name
  corrected     TEXT,                       -- hash of what a person corrected, see curate.ts; removed with the text
  key           TEXT,
  source        TEXT,
  outside       TEXT,                       -- JSON list of sources, null for none
  fact_key      TEXT,                       -- what a fact is about, see memory-rows.ts
  closed_by     TEXT,                       -- name of the next row of the same fact_key and trust
  closed_step   INTEGER,                    -- its step
  pinned        INTEGER NOT NULL DEFAULT 0,
  forgotten     TEXT,
  embedder      TEXT,
  vector        BLOB,                       -- float32, little endian
  UNIQUE (agent_no, change)
) STRICT;
CREATE UNIQUE INDEX memory_event ON memory (agent_no, seq, ordinal) WHERE ordinal IS NOT NULL;
CREATE UNIQUE INDEX memory_made ON memory (agent_no, made) WHERE made IS NOT NULL;
CREATE INDEX memory_corrected ON memory (agent_no, corrected) WHERE corrected IS NOT NULL;
CREATE INDEX memory_forgotten ON memory (namespace) WHERE forgotten IS NOT NULL;
CREATE INDEX memory_key ON memory (agent_no, key, change) WHERE key IS NOT NULL;
CREATE INDEX memory_piece ON memory (agent_no, source) WHERE kind = 'piece' AND superseded_by IS NULL AND forgotten IS NULL;
CREATE INDEX memory_fact ON memory (agent_no, fact_key, trust) WHERE fact_key IS NOT NULL;

CREATE TABLE curation (                     -- changes of a namespace by people
  agent_no INTEGER NOT NULL,
  no       INTEGER NOT NULL,
  key      TEXT NOT NULL,
  data     TEXT NOT NULL,                   -- JSON of its results, see curate.ts
  PRIMARY KEY (agent_no, no),
  UNIQUE (agent_no, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE remote (
  place     TEXT NOT NULL,                  -- which index
  namespace TEXT NOT NULL,
  id        TEXT NOT NULL,
  version   TEXT NOT NULL,
  is_sent   INTEGER NOT NULL,
  PRIMARY KEY (place, namespace, id)
) STRICT, WITHOUT ROWID;
`;

export const TABLES = `${AGENT_TABLES}${CONTENT_TABLES}${MEMORY_TABLES}`;
