/**
 * verify-memories.ts -- checks that the texts of a namespace are those that were written.
 *
 * Digests of commits cover the rows of events with the hashes of their texts (verify-agent.ts). Who pinned, replaced or forgot a row
 * is not checked.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { prepare } from "./connection.ts";
import { textShaOf } from "./memory-rows.ts";

const PAGE = 500;

interface MemoryText {
  readonly change: number;
  readonly name: string;
  readonly text: string;
  readonly salt: string | null;
  readonly textSha: string;
  readonly forgotten: string | null;
}

/** `agentNo` is the number of the namespace in the tables. */
export async function checkMemories(
  database: DatabaseSync,
  agentNo: number,
  namespace: string,
  problems: string[],
): Promise<void> {
  const read = prepare<MemoryText>(
    database,
    `SELECT change, name, text, salt, text_sha AS textSha, forgotten FROM memory
     WHERE agent_no = ? AND change > ? ORDER BY change LIMIT ${PAGE}`,
  );
  for (let page = read.all(agentNo, 0); page.length > 0; page = read.all(agentNo, page.at(-1)?.change ?? 0)) {
    for (const { name, text, salt, textSha, forgotten } of page)
      if (forgotten === null ? salt === null || textShaOf(salt, text) !== textSha : text !== "" || salt !== null)
        problems.push(`Expected the text of the memory ${namespace}/${name} as it was written, found it changed.`);
    await setImmediate();
  }
}
