/** agent-diff.ts -- the files of an agent compared between two steps; by default around the last step that changed any. */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow, FileVersion, StoreReader } from "#core/ports/store.ts";
import { count, described, listOf, nullable, open, type Static, text } from "#util/schema.ts";
import { type DiffRange, diffFiles, FileDiff, lastChangingStep } from "./file-diff.ts";
import { stateOf } from "./load-agent.ts";
import { requireTaken } from "./restore-version.ts";

export const DiffView = open({
  agent: text,
  from: count,
  to: described(nullable(count), "Null for the files as they are now, and when nothing was ever changed."),
  files: listOf(FileDiff),
});
export type DiffView = Static<typeof DiffView>;

export interface DiffRequest {
  /** Steps. Without both, the last step that changed a file is compared with the step before it. */
  readonly from?: number;
  readonly to?: number;
  /** Files, or folders with all files below; empty means all files. */
  readonly paths: readonly string[];
}

/** Throws GOALD_NOT_FOUND for an unknown path or step, GOALD_USAGE for steps in the wrong order. */
export async function diffAgent(
  row: AgentRow,
  request: DiffRequest,
  reader: Pick<StoreReader, "files" | "blob" | "load">,
): Promise<DiffView> {
  const versions = await reader.files(row.id);
  requireKnown(request.paths, versions, row.id);
  const { step } = await stateOf(reader, row);
  const range = rangeOf(request, versions);
  for (const end of [request.from, request.to]) if (end !== undefined) requireTaken(end, step, row.id);
  const files = range ? await diffFiles(versions, range, reader) : [];
  const to = range && Number.isFinite(range.to) ? range.to : null;
  return { agent: row.id, from: range?.from ?? 0, to, files };
}

/** Undefined when nothing was ever changed and the request names no step. */
function rangeOf({ from, to, paths }: DiffRequest, versions: readonly FileVersion[]): DiffRange | undefined {
  if (from !== undefined && to !== undefined && from > to)
    throw new GoaldError("GOALD_USAGE", `Expected --from before --to, got ${from} and ${to}.`, {
      hint: `To see what was undone since: goald diff … --from ${to} --to ${from}`,
    });
  if (from !== undefined) return { from, to: to ?? Number.POSITIVE_INFINITY, paths };
  const last = to ?? lastChangingStep(versions, paths);
  return last === undefined ? undefined : { from: Math.max(0, last - 1), to: last, paths };
}

/** Throws GOALD_NOT_FOUND for a path that is neither a file in the history nor a folder of one. */
export function requireKnown(paths: readonly string[], versions: readonly FileVersion[], agent: string): void {
  const unknown = paths.find((name) => !versions.some(({ path }) => path === name || path.startsWith(`${name}/`)));
  if (unknown === undefined) return;
  throw new GoaldError(
    "GOALD_NOT_FOUND",
    `Expected a file or folder that ${agent} wrote, got ${JSON.stringify(unknown)}.`,
    { hint: `See its files: goald show ${agent} --files` },
  );
}
