/** guard-workspace.ts -- limits what the parts of a command may change: only `run` changes files, and only within its time. */

import { GoaldError } from "#core/errors.ts";
import { type AskedFile, findUnasked } from "#core/guarded-files.ts";
import type { Workspace } from "#core/ports/workspace.ts";

export type CommandPart = "prepare" | "run" | "probe";

/** Throws GOALD_COMMAND_INVALID for a change by a part that may only read. `act` completes "tried to". */
export function requireRun(name: string, part: CommandPart, act: string): void {
  if (part === "run") return;
  throw new GoaldError(
    "GOALD_COMMAND_INVALID",
    `${name} tried to ${act} in ${part}, which may only read files and preserve them: ${part === "prepare" ? "it runs before the log says what is about to happen" : "it only looks whether the interrupted call happened"}. Changes belong in run.`,
  );
}

/** The changes that a guarded workspace permits. */
interface WorkspaceGuard {
  /** Throws when the part may not change anything, or the time is over. `act` completes "tried to". */
  check(act: string): void;
  inTime(): void;
  /** The files that others run and that a person was asked about. */
  readonly asked: readonly AskedFile[];
}

/** Checks each change before it is made. */
export function guardWorkspace(workspace: Workspace, { check, inTime, asked }: WorkspaceGuard): Workspace {
  const readText = async (path: string): Promise<string> =>
    (await workspace.stat(path)) ? decode(await workspace.read(path)) : "";
  const requireAsked = async (path: string, after: () => Promise<string>): Promise<void> => {
    const says = await findUnasked(path, asked, { before: () => readText(path), after });
    if (says !== undefined) throw refuseUnasked(path, says);
  };
  return {
    folder: workspace.folder,
    plainPath: (path) => workspace.plainPath(path),
    stat: (path) => workspace.stat(path),
    read: (path, range) => workspace.read(path, range),
    list: (directory, entered) => workspace.list(directory, entered),
    write: async (path, content) => {
      check(`write ${path}`);
      await requireAsked(path, async () => decode(content));
      return workspace.write(path, content);
    },
    append: async (path, content) => {
      check(`append to ${path}`);
      await requireAsked(path, async () => (await readText(path)) + decode(content));
      return workspace.append(path, content);
    },
    truncate: async (path, bytes) => {
      check(`truncate ${path}`);
      await requireAsked(path, () => readText(path));
      return workspace.truncate(path, bytes);
    },
    remove: async (path, options) => {
      check(`remove ${path}`);
      return workspace.remove(path, options);
    },
    removeWhole: async (path) => {
      check(`remove ${path}`);
      return workspace.removeWhole(path);
    },
    move: async (from, to) => {
      check(`move ${from}`);
      await requireAsked(to, () => readText(from));
      return workspace.move(from, to);
    },
    preserve: async (path) => {
      inTime();
      return workspace.preserve(path);
    },
    notePlaced: async (path) => {
      inTime();
      return workspace.notePlaced(path);
    },
    place: async (path, fill) => {
      check(`place a folder at ${path}`);
      await requireAsked(path, async () => "");
      return workspace.place(path, async (folder) => {
        const filled = await fill(folder);
        inTime();
        return filled;
      });
    },
  };
}

const decode = (content: string | Uint8Array): string =>
  typeof content === "string" ? content : new TextDecoder().decode(content);

const refuseUnasked = (path: string, says: string): GoaldError =>
  new GoaldError(
    "GOALD_PATH_REFUSED",
    `${JSON.stringify(path)} was not written: ${says}, and nobody was asked about it.`,
    { hint: "write_to_file asks a person. A command of one's own names the argument with the path in `writes`." },
  );
