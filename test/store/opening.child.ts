/** Upgrades the store at argv[2] to the made-up version 2 when it reads a byte, then prints "upgraded" or the error's code. */
import { readSync, writeSync } from "node:fs";
import { toError } from "#core/errors.ts";
import { openForWriting } from "#store/sqlite/connection.ts";
import { prepareSchema } from "#store/sqlite/schema.ts";
import { VERSION_2 } from "./made-stores.ts";

const database = openForWriting(process.argv[2] ?? "", 20_000);
writeSync(1, "open\n");
readSync(0, Buffer.alloc(1));
try {
  prepareSchema(database, VERSION_2);
  writeSync(1, "upgraded\n");
} catch (error) {
  const { code, message } = toError(error) as Error & { readonly code?: string };
  writeSync(1, `${code ?? message}\n`);
}
database.close();
