/** back-up.ts -- writes a backup of a home's store. Needs no lock: agents may run meanwhile. */
import { resolve } from "node:path";
import type { Home } from "#config/home.ts";
import { backupStore, type StoreBackup } from "#store/sqlite/backup.ts";

export interface HomeBackup extends StoreBackup {
  /** Absolute path. */
  readonly file: string;
}

/** Throws GOALD_CONFLICT when the file exists, unless `replace` is set, and GOALD_STORE_DAMAGED for a damaged store. */
export async function backUpHome(home: Pick<Home, "database">, name: string, replace: boolean): Promise<HomeBackup> {
  const file = resolve(name);
  return { file, ...(await backupStore(home.database, file, replace)) };
}
