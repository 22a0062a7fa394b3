/**
 * find-file.ts -- which file of which agent a person means: `foo notes.md`, `foo/notes.md`, or a path on this disk.
 */
import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { GoaldError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { findAgent } from "#views/load-agent.ts";
import type { CliContext } from "./context.ts";

export interface FoundFile {
  readonly row: AgentRow;
  /** Relative to the agent's folder, as the history has it. */
  readonly path: string;
}

/** Throws GOALD_NOT_FOUND for an agent that is not there, GOALD_USAGE for a path of none. */
export async function findFile(
  file: string,
  path: string | undefined,
  reader: Pick<StoreReader, "agents" | "agent">,
  { home }: CliContext,
): Promise<FoundFile> {
  if (path !== undefined) {
    const row = await findAgent(reader, file);
    return { row, path: insideOf(row, path, home.workspaceFolder) ?? tidy(path) };
  }
  const onDisk = await ofFolder(file, home.workspaceFolder, reader);
  if (onDisk) return onDisk;
  const slash = file.indexOf("/");
  if (slash <= 0 || slash === file.length - 1) throw await noFile(file, reader);
  return { row: await findAgent(reader, file.slice(0, slash)), path: tidy(file.slice(slash + 1)) };
}

async function noFile(file: string, reader: Pick<StoreReader, "agents" | "agent">): Promise<GoaldError> {
  const row = await findAgent(reader, file.replace(/\/$/, "")).catch(() => undefined);
  return new GoaldError("GOALD_USAGE", `Expected an agent and a file of it, got ${JSON.stringify(file)}.`, {
    hint: row
      ? `Name the file after the agent. Its files: goald files ${row.id}`
      : "Such as: goald why foo/notes.md, goald why foo notes.md, or a path into a workspace",
  });
}

const tidy = (path: string): string =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");

/** A path on the disk, absolute or from where the person stands, that lies in an agent's folder: the innermost one. */
async function ofFolder(
  file: string,
  workspaceFolder: string,
  reader: Pick<StoreReader, "agents">,
): Promise<FoundFile | undefined> {
  const rows = [...(await reader.agents())].sort((a, b) => b.folder.length - a.folder.length);
  for (const row of rows) {
    const path = insideOf(row, file, workspaceFolder);
    if (path) return { row, path };
  }
  return undefined;
}

/** Links on the way to the workspace count as what they lead to. */
function insideOf(row: AgentRow, file: string, workspaceFolder: string): string | undefined {
  const folders = [workspaceFolder, realOr(workspaceFolder)].map((folder) => resolve(folder, row.folder));
  for (const folder of folders) {
    const path = relative(folder, resolve(file));
    if (path !== "" && !path.startsWith("..") && resolve(folder, path) === resolve(file))
      return path.replaceAll(sep, "/");
  }
  return undefined;
}

function realOr(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
