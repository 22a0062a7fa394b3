/** blobs.ts -- contents of files and long texts, each stored once under its hash, whichever agent wrote it. */
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "./chain.ts";
import { prepare } from "./connection.ts";
import type { References } from "./references.ts";

export interface Blobs {
  /** Stores the content of a version of a file, whose row in `file_version` names the hash. */
  keepContent(sha: string, bytes: Uint8Array): void;
  /** Stores a long text and records that the agent refers to it. */
  keepText(agentNo: number, bytes: Uint8Array): void;
}

export function openBlobs(database: DatabaseSync, references: References): Blobs {
  const insert = prepare(database, "INSERT INTO blob (sha, bytes) VALUES (?, ?) ON CONFLICT (sha) DO NOTHING");
  return {
    keepContent: (sha, bytes) => void insert.run(sha, bytes),
    keepText(agentNo, bytes) {
      const sha = sha256(bytes);
      insert.run(sha, bytes);
      references.note(agentNo, [sha]);
    },
  };
}
