/**
 * curation-chain.ts -- the hash chain of the changes that people make in the memory of a namespace.
 *
 * One link per call. A link records each change, and for an added row the hash of its constant columns. So `pinned`, `forgotten`
 * and the replacement of copies follow from the chain; a superseding row names the older row.
 */
import type { DatabaseSync } from "node:sqlite";
import type { MemoryChanged } from "#core/ports/memory-row.ts";
import { canonicalJson } from "#util/canonical-json.ts";
import { chainLink, sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import { digestedValues, type NewRow } from "./memory-rows.ts";

/** One change as it is stored in the chain. `id` is the row's name in the namespace. */
export type Curated =
  | { readonly op: "add"; readonly id: string; readonly sha: string }
  /** Nothing changed: the row exists already, or a person forgot or corrected it. */
  | { readonly op: "known"; readonly id: string }
  | { readonly op: "pin" | "unpin"; readonly id: string }
  /** `copyOf`: forgotten with that row, because it says the same. */
  | { readonly op: "forget"; readonly id: string; readonly by: "person" | "source"; readonly copyOf?: string }
  /** Replaced by the row `by`, because it says the same as the row that this one corrects. */
  | { readonly op: "replace"; readonly id: string; readonly by: string }
  /** In a fork: the state of the row when it was copied. `replacedBy`: as by the operation `replace`. */
  | {
      readonly op: "copy";
      readonly id: string;
      readonly sha: string | null;
      readonly pinned: boolean;
      readonly forgotten: string | null;
      readonly replacedBy?: string;
    };
export interface Curation {
  readonly at: string;
  readonly key: string;
  readonly changes: readonly Curated[];
}

export const curationStart = (namespace: string): string => sha256(`goald memory ${namespace}`);
/** The hash of the constant columns of a row that a person added. */
export const rowSha = (row: NewRow): string => sha256(JSON.stringify(digestedValues(row)));

/** Returns one result for each change; entries about copies belong to the change before them. */
export function resultsOf(namespace: string, entries: readonly Curated[]): readonly MemoryChanged[] {
  const results: (MemoryChanged & { copies?: string[] })[] = [];
  for (const entry of entries) {
    const id = `${namespace}/${entry.id}`;
    const isCopy = entry.op === "replace" || (entry.op === "forget" && entry.copyOf !== undefined);
    const last = results.at(-1);
    // An added row that was replaced at once has two entries.
    if (isCopy && last?.id === id) continue;
    if (isCopy && last) last.copies = [...(last.copies ?? []), id];
    else results.push({ id, isNew: entry.op !== "known" });
  }
  return results;
}

export interface CurationChain {
  byKey(agentNo: number, key: string): Curation | undefined;
  append(agentNo: number, namespace: string, curation: Curation): void;
}

export function openCurationChain(database: DatabaseSync): CurationChain {
  const byKey = prepare<{ readonly data: string }>(
    database,
    "SELECT data FROM curation WHERE agent_no = ? AND key = ?",
  );
  const head = prepare<{ readonly no: number; readonly sha: string }>(
    database,
    "SELECT no, sha FROM curated WHERE agent_no = ?",
  );
  const insert = prepare(database, "INSERT INTO curation (agent_no, no, key, data, sha) VALUES (?, ?, ?, ?, ?)");
  const moveHead = prepare(
    database,
    `INSERT INTO curated (agent_no, no, sha) VALUES (?1, ?2, ?3)
     ON CONFLICT (agent_no) DO UPDATE SET no = ?2, sha = ?3`,
  );
  return {
    byKey(agentNo, key) {
      const found = byKey.get(agentNo, key);
      return found && (JSON.parse(found.data) as Curation);
    },
    append(agentNo, namespace, curation) {
      const { no, sha: previous } = head.get(agentNo) ?? { no: 0, sha: curationStart(namespace) };
      const data = canonicalJson(curation);
      const sha = chainLink(previous, data);
      insert.run(agentNo, no + 1, curation.key, data, sha);
      moveHead.run(agentNo, no + 1, sha);
    },
  };
}
