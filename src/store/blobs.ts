/** blobs.ts -- contents of files and long texts, each stored once under its hash, whichever agent wrote it. */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import type { References } from "./references.ts";

export interface Blobs {
  /** Stores the content of a version of a file, whose row in `file_version` names the hash. Returns the bytes that are new. */
  keepContent(sha: string, bytes: Uint8Array): number;
  /** Stores a long text and records that the agent refers to it. Returns the bytes that are new. */
  keepText(agentNo: number, bytes: Uint8Array): number;
}

export function openBlobs(database: DatabaseSync, references: References): Blobs {
  const insert = prepare(database, "INSERT INTO blob (sha, bytes) VALUES (?, ?) ON CONFLICT (sha) DO NOTHING");
  return {
    keepContent: (sha, bytes) => insert.run(sha, bytes) * bytes.length,
    keepText(agentNo, bytes) {
      const sha = sha256(bytes);
      const added = insert.run(sha, bytes) * bytes.length;
      references.note(agentNo, [sha]);
      return added;
    },
  };
}
