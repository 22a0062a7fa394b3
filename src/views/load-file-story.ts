/** load-file-story.ts -- loads why a file exists from a store. */
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { type FileStory, traceVersions } from "./file-story.ts";
import { allEvents } from "./read-log.ts";
import type { StepParts } from "./whole-step.ts";

/** `workspace`: absolute path of the agent's folder. Throws GOALD_NOT_FOUND for a file that the agent never wrote. */
export async function loadFileStory(
  row: AgentRow,
  file: { readonly path: string; readonly workspace: string },
  reader: Pick<StoreReader, "read" | "files" | "blob">,
  { readThoughts }: Pick<StepParts, "readThoughts">,
): Promise<FileStory> {
  const { path, workspace } = file;
  const versions = (await reader.files(row.id)).filter((version) => version.path === path);
  if (versions.length === 0) throw neverWritten(row.id, path);
  const told = await traceVersions(row.id, versions, allEvents(reader, row.id));
  const withThoughts: FileStory["versions"][number][] = [];
  for (const { reply, finishReason, ...version } of told) {
    const bytes = typeof reply === "object" && reply !== null ? await reader.blob(reply.blob) : undefined;
    const text = bytes ? Buffer.from(bytes).toString("utf8") : reply;
    const thoughts = typeof text === "string" ? await readThoughts(text, finishReason) : null;
    withThoughts.push({ ...version, thoughts });
  }
  return { agent: row.id, name: row.name, path, workspace, versions: withThoughts };
}

const neverWritten = (agent: string, path: string): GoaldError =>
  new GoaldError("GOALD_NOT_FOUND", `Expected a file that ${agent} wrote, got ${JSON.stringify(path)}.`, {
    hint: `If the file exists, somebody else wrote it. See the agent's files: goald files ${agent}`,
  });
