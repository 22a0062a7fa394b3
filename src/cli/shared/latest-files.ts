/** latest-files.ts -- the last change of each file that an agent wrote. */

import type { FileVersion } from "#core/ports/file-version.ts";
import { isByPerson } from "#views/restore-version.ts";

type LatestFile = Pick<FileVersion, "path" | "operation" | "step" | "bytes" | "at"> & {
  /** Who changed it last. */
  readonly by: "agent" | "person";
  /** How often it was changed. */
  readonly changes: number;
};

/** The last change of each file, in the order of their paths; goald's own spilled outputs and deleted files left out. */
export function latestFiles(versions: readonly FileVersion[]): readonly LatestFile[] {
  const latest = new Map<string, LatestFile>();
  for (const version of versions) {
    const { path, operation, step, bytes, at } = version;
    const changes = (latest.get(path)?.changes ?? 0) + 1;
    latest.set(path, { path, operation, step, bytes, at, by: isByPerson(version) ? "person" : "agent", changes });
  }
  return [...latest.values()]
    .filter(({ path, operation }) => operation !== "delete" && !path.startsWith("_goald/"))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
