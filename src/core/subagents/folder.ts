/** folder.ts -- the folders of sub-agents: each is `agents/<id>` in the folder of its parent. Pure. */

export const AGENTS_FOLDER = "agents";

/** Returns the folder below `workspace/`. `parentFolder`: null for an agent that no agent started. */
export const folderOf = (id: string, parentFolder: string | null): string =>
  parentFolder === null ? id : `${parentFolder}/${AGENTS_FOLDER}/${id}`;

/** Path of a sub-agent's file, relative to its parent's folder. */
export const pathInParent = (id: string, path: string): string => `${AGENTS_FOLDER}/${id}/${path}`;

interface SubagentPath {
  readonly child: string;
  /** Path within the sub-agent's folder; empty for the folder itself. */
  readonly inner: string;
}

/** Undefined for a path that is in no sub-agent's folder. */
export function splitSubagentPath(path: string): SubagentPath | undefined {
  const [, child, inner = ""] = SUBAGENT_PATH.exec(path) ?? [];
  return child === undefined ? undefined : { child, inner };
}
const SUBAGENT_PATH = new RegExp(`^${AGENTS_FOLDER}/([^/]+)(?:/(.*))?$`);

/** The folder of the sub-agent whose file this is, at any depth; empty for a file that is in no sub-agent's folder. */
export function subagentFolderOf(file: string): string {
  const split = splitSubagentPath(file);
  if (!split?.inner) return "";
  const deeper = subagentFolderOf(split.inner);
  return deeper === "" ? `${AGENTS_FOLDER}/${split.child}` : pathInParent(split.child, deeper);
}
