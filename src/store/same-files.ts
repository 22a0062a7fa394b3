/**
 * same-files.ts -- whether a store is still the one that lies at its path.
 *
 * A connection outlives the name of its file: where somebody removes, moves or replaces that under a running host,
 * SQLite goes on writing to what no name leads to any more, and all of it is gone with the process. A name
 * that cannot be looked up now is no sign of that.
 */
import { statSync } from "node:fs";
import { GoaldError } from "#core/errors.ts";
import type { Writer } from "./writes.ts";

/** What has been committed lately lies in the second one. */
const SUFFIXES = ["", "-wal"] as const;

type Identity = string | "gone" | "unknown";

/** The writer of the store that lies at `path` now: refuses, with GOALD_STORE_DAMAGED, to write to one that does no longer. */
export function onlyThere(path: string, writer: Writer): Writer {
  const files = SUFFIXES.map((suffix) => path + suffix).map((file) => ({ file, opened: identityOf(file) }));
  return {
    write: async (name, ...args) => {
      for (const { file, opened } of files) requireSame(file, opened);
      return writer.write(name, ...args);
    },
    close: () => writer.close(),
  };
}

function requireSame(file: string, opened: Identity): void {
  if (opened === "gone" || opened === "unknown") return;
  const found = identityOf(file);
  if (found === opened || found === "unknown") return;
  const what = found === "gone" ? "is not there any more" : "is another file now";
  throw new GoaldError(
    "GOALD_STORE_DAMAGED",
    `The store was opened at ${file}, which ${what}. Nothing is written where nobody would find it.`,
    {
      hint: `Put back what was moved, and agents go on. What was removed, process ${process.pid} still holds: copy it before that ends (on Linux: ls -l /proc/${process.pid}/fd).`,
    },
  );
}

function identityOf(file: string): Identity {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.dev}:${found.ino}` : "gone";
  } catch {
    return "unknown";
  }
}
