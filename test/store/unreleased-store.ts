/** unreleased-store.ts -- makes a store with the version mark of a goald before the first release. */
import { copyFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** `mark`: the application id. With `isClosed` false, rows stay in the -wal, as after a kill. */
export function makeUnreleasedStore(path: string, version: string, isClosed: boolean, mark = 0): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  const made = isClosed ? path : `${path}.made`;
  const database = new DatabaseSync(made);
  database.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
    PRAGMA application_id = ${mark};
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE agent (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO agent (id) VALUES ('foo');
    INSERT INTO meta (key, value) VALUES ('schema', '${version}'), ('min_reader', '1')`);
  if (!isClosed) for (const suffix of ["", "-wal"]) copyFileSync(made + suffix, path + suffix);
  database.close();
  if (!isClosed) rmSync(made);
}
