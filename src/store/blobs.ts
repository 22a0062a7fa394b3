/**
 * blobs.ts -- contents by their hash, each kept once, whoever wrote it.
 *
 * A small one lies in one b-tree with its hash, which spares a page at every commit; a large one would waste pages there. Who
 * wrote a content first is its owner. Every other agent that refers to it is noted (references.ts), so that a content can be forgotten with its last agent;
 * one without an owner is noted for all.
 */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import type { References } from "./references.ts";

/** Four of them fill a page. */
const MAX_SMALL_BYTES = 900;

/** Both of them, for what holds of every content. */
export const BLOB_TABLES = ["small_blob", "blob"] as const;
export const ALL_BLOBS = `(${BLOB_TABLES.map((table) => `SELECT sha, bytes, owner_no FROM ${table}`).join(" UNION ALL ")})`;

export interface Blobs {
  /** Of a version of a file, whose row names it. */
  keepContent(agentNo: number, sha: string, bytes: Uint8Array): void;
  /** Of a long text: noted for its owner too, because no row may name it. */
  keepText(agentNo: number, bytes: Uint8Array): void;
}

export function openBlobs(database: DatabaseSync, references: References): Blobs {
  const keepSmall = prepare(
    database,
    `INSERT INTO small_blob (sha, bytes, owner_no)
     SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM blob WHERE sha = ?1) ON CONFLICT DO NOTHING`,
  );
  const keepLarge = prepare(
    database,
    "INSERT INTO blob (sha, bytes, owner_no) VALUES (?, ?, ?) ON CONFLICT (sha) DO NOTHING",
  );
  const isOwner = prepare(database, `SELECT 1 FROM ${ALL_BLOBS} WHERE sha = ? AND owner_no = ?`);
  /** Returns whether nobody had it. */
  function insert(agentNo: number, sha: string, bytes: Uint8Array): boolean {
    const keep = bytes.length <= MAX_SMALL_BYTES ? keepSmall : keepLarge;
    return keep.run(sha, bytes, agentNo) === 1;
  }
  return {
    keepContent(agentNo, sha, bytes) {
      if (!insert(agentNo, sha, bytes) && isOwner.get(sha, agentNo) === undefined) references.note(agentNo, [sha]);
    },
    keepText(agentNo, bytes) {
      const sha = sha256(bytes);
      insert(agentNo, sha, bytes);
      references.note(agentNo, [sha]);
    },
  };
}
