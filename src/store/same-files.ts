/**
 * same-files.ts -- checks that the files of an open store are still at its path.
 *
 * When somebody removes, moves or replaces the file under a running host, SQLite continues to write to the old file, which
 * is lost when the process ends. A path that cannot be checked now counts as unchanged.
 */
import { statSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import type { StoreWriter } from "./writes.ts";

/** The -wal contains the latest commits. */
const SUFFIXES = ["", "-wal"] as const;

type FileIdentity = string | "gone" | "unknown";

/** Returns the writer with a check before each write: throws GOALD_STORE_DAMAGED when the files at `path` have changed. */
export function requireSameFiles(path: string, writer: StoreWriter): StoreWriter {
  const files = SUFFIXES.map((suffix) => path + suffix).map((file) => ({ file, opened: identityOf(file) }));
  return {
    write: async (name, ...args) => {
      for (const { file, opened } of files) requireSame(file, opened);
      return writer.write(name, ...args);
    },
    close: () => writer.close(),
  };
}

function requireSame(file: string, opened: FileIdentity): void {
  if (opened === "gone" || opened === "unknown") return;
  const found = identityOf(file);
  if (found === opened || found === "unknown") return;
  const change = found === "gone" ? "does not exist any more" : "is another file now";
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store was opened at ${file}, which ${change}. goald has stopped writing to it.`,
    {
      hint: `If the file was moved, put it back and the agents continue. If it was removed, copy it from process ${process.pid} before that ends (on Linux: ls -l /proc/${process.pid}/fd).`,
    },
  );
}

function identityOf(file: string): FileIdentity {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : "gone";
  } catch {
    return "unknown";
  }
}
