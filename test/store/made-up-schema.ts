/** made-up-schema.ts -- a schema version 2 that exists in tests only: an index of memories by kind, and one more column. */
import type { Schema } from "#store/sqlite/schema.ts";

export const VERSION_2: Schema = {
  migrations: [
    (database) => {
      database.exec(`ALTER TABLE agent ADD COLUMN color TEXT NOT NULL DEFAULT 'blue';
        CREATE INDEX memory_kind ON memory (agent_no, kind)`);
    },
  ],
  minReader: 2,
};

/** Its only step changes the tables and then fails. */
export const FAILING_VERSION_2: Schema = {
  ...VERSION_2,
  migrations: [
    (database) => {
      VERSION_2.migrations[0]?.(database);
      throw new Error("power cut");
    },
  ],
};
