/** guard-workspace.ts -- limits what the parts of a command may change: only `run` changes files, and only within its time. */
import { GoaldError } from "#core/errors.ts";
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

/** Calls `check` before each change, with what it is about to do. */
export function guardWorkspace(workspace: Workspace, check: (act: string) => void, inTime: () => void): Workspace {
  const checked =
    <A extends readonly [path: string, ...unknown[]], R>(verb: string, act: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      check(`${verb} ${given[0]}`);
      return act(...given);
    };
  return {
    folder: workspace.folder,
    plainPath: (path) => workspace.plainPath(path),
    stat: (path) => workspace.stat(path),
    read: (path, range) => workspace.read(path, range),
    list: (directory, entered) => workspace.list(directory, entered),
    write: checked("write", (path, content: Parameters<Workspace["write"]>[1]) => workspace.write(path, content)),
    append: checked("append to", (path, content: Parameters<Workspace["append"]>[1]) =>
      workspace.append(path, content),
    ),
    truncate: checked("truncate", (path, bytes: number) => workspace.truncate(path, bytes)),
    remove: checked("remove", (...given: Parameters<Workspace["remove"]>) => workspace.remove(...given)),
    move: checked("move", (from, to: string) => workspace.move(from, to)),
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
      return workspace.place(path, async (folder) => {
        const filled = await fill(folder);
        inTime();
        return filled;
      });
    },
  };
}
