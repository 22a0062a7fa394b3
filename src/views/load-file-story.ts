/** load-file-story.ts -- loads why a file exists from a store. */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { type FileStory, traceVersions } from "./file-story.ts";
import { stateOf } from "./load-agent.ts";
import { loadTrustInAll } from "./load-trust.ts";
import { allEvents } from "./read-log.ts";
import type { StepParts } from "./whole-step.ts";

/** `workspace`: absolute path of the agent's folder. Throws GOALD_NOT_FOUND for a file that the agent never wrote. */
export async function loadFileStory(
  row: AgentRow,
  file: { readonly path: string; readonly workspace: string },
  reader: Pick<StoreReader, "load" | "read" | "files" | "blob">,
  { readThoughts }: Pick<StepParts, "readThoughts">,
): Promise<FileStory> {
  const { path, workspace } = file;
  const all = await reader.files(row.id);
  const versions = all.filter((version) => version.path === path);
  if (versions.length === 0) throw neverWritten(row.id, path, all);
  const told = await traceVersions(row.id, versions, allEvents(reader, row.id));
  const withThoughts: FileStory["versions"][number][] = [];
  for (const { reply, finishReason, mode, ...version } of told) {
    const bytes = typeof reply === "object" && reply !== null ? await reader.blob(reply.blob) : undefined;
    const text = bytes ? Buffer.from(bytes).toString("utf8") : reply;
    const thoughts = typeof text === "string" ? await readThoughts(text, finishReason, mode) : null;
    withThoughts.push({ ...version, thoughts });
  }
  const { trustedSeq } = await stateOf(reader, row);
  const trusted = await loadTrustInAll(row.id, trustedSeq, reader);
  return { agent: row.id, name: row.name, path, workspace, trusted, versions: withThoughts };
}

function neverWritten(agent: string, path: string, versions: readonly FileVersion[]): GoaldError {
  const placed = versions.findLast((version) => version.operation === "place" && path.startsWith(`${version.path}/`));
  const hint = placed
    ? `It may have come with the folder ${JSON.stringify(placed.path)}: goald why ${agent} ${placed.path}`
    : `If the file exists, somebody else wrote it. See the agent's files: goald show ${agent} --files`;
  return new GoaldError("GOALD_NOT_FOUND", `Expected a file that ${agent} wrote, got ${JSON.stringify(path)}.`, {
    hint,
  });
}
