/** find-memory.ts -- finds a memory row by its id, which contains its namespace. */

import { isGoaldError } from "#core/errors.ts";
import { namespaceOf } from "#core/memory.ts";
import type { MemoryRow } from "#core/ports/memory-row.ts";
import type { StoreReader } from "#core/ports/store.ts";

/** Undefined when the row or its agent does not exist. */
export async function findMemory(reader: Pick<StoreReader, "memory">, id: string): Promise<MemoryRow | undefined> {
  try {
    return await reader.memory(namespaceOf(id), id);
  } catch (thrown) {
    if (isGoaldError(thrown, "GOALD_NOT_FOUND")) return undefined;
    throw thrown;
  }
}
