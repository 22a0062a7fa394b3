/** Has the store at argv[2] open, and brings it up to date when it is told to; says what came of it, and whether all in it is sound. */
import { readSync, writeSync } from "node:fs";
import { toError } from "#core/errors.ts";
import { openForWriting } from "#store/connection.ts";
import { prepareSchema } from "#store/schema.ts";
import { openSqliteStore } from "#store/sqlite-store.ts";

const path = process.argv[2] ?? "";
const database = openForWriting(path, 20_000);
writeSync(1, "open\n");
readSync(0, Buffer.alloc(1));
try {
  prepareSchema(database);
  const store = await openSqliteStore(path);
  writeSync(1, `${JSON.stringify(await store.verify())}\n`);
  await store.close();
} catch (error) {
  const { code, message } = toError(error) as Error & { readonly code?: string };
  writeSync(1, `${JSON.stringify([code, message])}\n`);
}
database.close();
