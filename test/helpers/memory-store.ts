/**
 * memory-store.ts -- the embedded store on a database in memory: same code, no file, no disk.
 *
 * Nothing of it outlives the object, so a simulated crash keeps the object and drops what used it.
 */
import type { Commit, Store } from "#core/ports/store.ts";
import { openEmptyTables } from "#store/sqlite/schema.ts";
import { openStore } from "#store/store.ts";
import { openDirectWriter } from "#store/writes.ts";

/** What keeps the ends of logs beside a file: there is none. */
const NO_ANCHOR = {
  note: () => undefined,
  mark: () => () => undefined,
  count: () => undefined,
  publish: () => undefined,
  close: () => undefined,
};

export type MemoryStore = ReturnType<typeof openMemoryStore>;

export function openMemoryStore(): Store & { readonly commits: Commit[] } {
  const database = openEmptyTables();
  const { write, close } = openDirectWriter(database, ":memory:", NO_ANCHOR);
  /** All stored commits, oldest first. */
  const commits: Commit[] = [];
  const store = openStore(database, ":memory:", {
    write: async (name, ...args) => {
      const result = await write(name, ...args);
      if (name === "commit") commits.push(args[2] as Commit);
      return result;
    },
    close,
  });
  return { ...store, commits };
}
