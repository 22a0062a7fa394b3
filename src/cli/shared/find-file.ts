/** find-file.ts -- finds an agent's file from `foo notes.md`, `foo/notes.md`, or a path on the disk. */
import { realpathSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import type { Reading } from "#api/control.ts";
import type { Home } from "#config/home.ts";
import { GoaldError } from "#core/errors.ts";
import type { CliContext } from "./context.ts";
import { withReading } from "./reading.ts";

export interface FoundFile {
  /** Id of the agent. */
  readonly agent: string;
  /** Path relative to the agent's folder, as in the history. */
  readonly path: string;
}

/** Returns the paths of an agent's files, relative to its folder. */
export const findPaths = (agent: string, files: readonly string[], context: CliContext): Promise<readonly string[]> =>
  withReading(context, async (reading) => {
    const found = files.map((file) => findFile(agent, file, reading, context.home));
    return (await Promise.all(found)).map(({ path }) => path);
  });

type Agents = Pick<Reading, "agents" | "agent">;

/** Throws GOALD_NOT_FOUND for an unknown agent, GOALD_USAGE for a path outside all agents' folders. */
export async function findFile(
  file: string,
  path: string | undefined,
  reading: Agents,
  { workspaceFolder }: Pick<Home, "workspaceFolder">,
): Promise<FoundFile> {
  if (path !== undefined) {
    const { id, workspace } = await reading.agent(file);
    return { agent: id, path: insideOf(workspace, path, workspaceFolder) ?? tidy(path) };
  }
  const onDisk = await findOnDisk(file, workspaceFolder, reading);
  if (onDisk) return onDisk;
  const slash = file.indexOf("/");
  if (slash <= 0 || slash === file.length - 1) throw await noFile(file, reading);
  return { agent: (await reading.agent(file.slice(0, slash))).id, path: tidy(file.slice(slash + 1)) };
}

async function noFile(file: string, reading: Agents): Promise<GoaldError> {
  const found = await reading.agent(file.replace(/\/$/, "")).catch(() => undefined);
  return new GoaldError("GOALD_USAGE", `Expected an agent and a file of it, got ${JSON.stringify(file)}.`, {
    hint: found
      ? `Name the file after the agent. Its files: goald show ${found.id} --files`
      : "Such as: goald why foo/notes.md, goald why foo notes.md, or a path into a workspace",
  });
}

const tidy = (path: string): string =>
  path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");

/** Finds an absolute or relative path in an agent's folder. The innermost folder has precedence. */
async function findOnDisk(file: string, workspaceFolder: string, reading: Agents): Promise<FoundFile | undefined> {
  const views = [...(await reading.agents())].sort((a, b) => b.workspace.length - a.workspace.length);
  for (const { id, workspace } of views) {
    const path = insideOf(workspace, file, workspaceFolder);
    if (path) return { agent: id, path };
  }
  return undefined;
}

/** Resolves links in the path of the home's workspace folder. */
function insideOf(workspace: string, file: string, workspaceFolder: string): string | undefined {
  const own = relative(workspaceFolder, workspace);
  for (const folder of [workspace, resolve(realOr(workspaceFolder), own)]) {
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
