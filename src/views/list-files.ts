/** list-files.ts -- the files of an agent: the latest version of each, and all versions. Pure. */
import type { FileVersion } from "#core/ports/store.ts";
import { count, described, listOf, oneOf, open, ordinal, type Static, text, time } from "#util/schema.ts";
import { FileVersionView, Operation } from "./parts.ts";
import { isByPerson } from "./restore-version.ts";

export const LatestFile = open({
  path: text,
  operation: Operation,
  step: count,
  bytes: count,
  at: time,
  by: described(oneOf("agent", "person"), "Who changed it last."),
  changes: described(ordinal, "Number of changes."),
});
export type LatestFile = Static<typeof LatestFile>;

export const FileList = open({
  workspace: described(text, "Absolute path of the agent's folder."),
  files: listOf(LatestFile),
  versions: described(listOf(FileVersionView), "Every change of every file, oldest first."),
});
export type FileList = Static<typeof FileList>;

/** The last change of each file, by path. Leaves out deleted files and goald's own. */
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
