/**
 * terms-file.ts -- what goald has learned and counted of servers, kept over restarts: `.goald/model-servers.json`, `.goald/embeddings.json`.
 *
 * A file and no table of the store: it belongs to no agent, is no truth, and may be deleted at any time. Only the host
 * writes it. What cannot be read is as if it were not there, what cannot be written is learned
 * and counted again.
 */
import { join } from "node:path";
import { readTextFile } from "./read-text-file.ts";
import { replacePrivateFile } from "./replace-private-file.ts";

const MAX_BYTES = 1024 * 1024;

export interface TermsFile {
  read(): Promise<unknown>;
  write(content: unknown): Promise<void>;
}

export function openTermsFile(privateFolder: string, name = "model-servers.json"): TermsFile {
  const path = join(privateFolder, name);
  return {
    async read() {
      try {
        return JSON.parse((await readTextFile(path, MAX_BYTES))?.text ?? "null") as unknown;
      } catch {
        return undefined;
      }
    },
    async write(content) {
      await replacePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`).catch(() => undefined);
    },
  };
}
