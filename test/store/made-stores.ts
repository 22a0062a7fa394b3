/** made-stores.ts -- fills a store with rows in every table, as agents and a person write them. */
import { copyFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { replay } from "#core/evolve.ts";
import type { Store } from "#core/ports/store.ts";
import { STATE_VERSION } from "#core/state.ts";
import { AT, bytesOf, memoryOf, NOTHING, SPEC, said, sha256, stamped, words, wrote } from "../helpers/events.ts";

/** The reference to the long text of foo's event 5, which is stored as a blob. */
export const spilled = { blob: sha256("spilled"), bytes: 7, head: "sp" };

/**
 * Creates two agents. foo has ten events, every third with a file, memories and a snapshot, and one long text. It consumes
 * one message with event 2, two after event 8 and one after the last. A person adds a note, pins, corrects and forgets.
 */
export async function fill(store: Store): Promise<void> {
  await store.create(SPEC, "k1", AT);
  await store.create({ ...SPEC, name: "Bar" }, "k2", AT);
  for (const key of ["in", "late", "later", "last"]) await store.deliver("foo", key, words("hello"), AT);
  const lease = await store.claim("foo");
  for (let seq = 2; seq <= 10; seq++) {
    const text = seq === 5 ? spilled : `text ${seq}`;
    const rich = seq % 3 === 0;
    const events = stamped(seq, { ...said(""), text } as ReturnType<typeof said>);
    await store.commit(lease, seq - 1, {
      ...NOTHING,
      events,
      consumed: seq === 2 ? ["in"] : [],
      memories: rich ? [memoryOf(seq)] : [],
      files: rich ? [wrote(`${seq}.txt`, `content ${seq}`)] : [],
      blobs: seq === 5 ? [bytesOf("spilled"), bytesOf("of no use")] : [],
      staged: rich ? [{ kind: "memory", text: `noted ${seq}`, importance: 1, memoryKind: "note" }] : [],
      ...(rich ? { snapshot: { version: STATE_VERSION, state: replay([...(await history(store)), ...events]) } } : {}),
    });
    if (seq === 8) for (const key of ["later", "late"]) await store.commit(lease, seq, { ...NOTHING, consumed: [key] });
  }
  await store.commit(lease, 10, { ...NOTHING, consumed: ["last"] });
  const note = { op: "add", kind: "note", text: "by hand", importance: 1, trust: "person" } as const;
  await store.curate("foo", [note], "m1", AT);
  await store.curate("foo", [{ op: "pin", id: "foo/3" }], "m2", AT);
  const corrected = { ...note, text: "better", supersedes: "foo/3.1" };
  await store.curate("foo", [{ op: "forget", id: "foo/9", by: "person" }, corrected], "m3", AT);
  await store.curate("shared", [{ ...note, text: "for all" }], "m1", AT);
  const bar = await store.claim("bar");
  await store.commit(bar, 1, { ...NOTHING, events: stamped(2, said("text 2")) });
}

const history = (store: Store) => store.read("foo", 0, 100);

/** The SQL condition for foo's rows. */
export const FOO = "agent_no = (SELECT no FROM agent WHERE id = 'foo')";

// Makes a store with the version mark of a goald before the first release.

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
