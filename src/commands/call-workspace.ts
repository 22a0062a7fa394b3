/**
 * call-workspace.ts -- the agent's folder as one part of a call may use it. Only `run` changes files, and only within
 * its time; a file that others run is written only when a person was asked. The sources of a file's words are noted
 * before its content is returned.
 */
import { GoaldError } from "#core/errors.ts";
import { type AskedFile, findUnasked } from "#core/guarded-files.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { SourceTracker } from "./track-sources.ts";

export type CommandPart = "prepare" | "run" | "probe";

/** Throws GOALD_COMMAND_INVALID for a change by a part that may only read. `act` completes "tried to". */
export function requireRun(name: string, part: CommandPart, act: string): void {
  if (part === "run") return;
  throw new GoaldError(
    "GOALD_COMMAND_INVALID",
    `${name} tried to ${act} in ${part}, which may only read files and preserve them: ${part === "prepare" ? "it runs before the log says what is about to happen" : "it only looks whether the interrupted call happened"}. Changes belong in run.`,
  );
}

interface CallHooks {
  /** Throws when the part may not change anything, or the time is over. `act` completes "tried to". */
  check(act: string): void;
  inTime(): void;
  /** The files that others run and that a person was asked about. */
  readonly asked: readonly AskedFile[];
  readonly tracker: SourceTracker;
}

export function openCallWorkspace(workspace: Workspace, { check, inTime, asked, tracker }: CallHooks): Workspace {
  const note = (path: string): Promise<void> => tracker.readFile(workspace.plainPath(path));
  const read: Workspace["read"] = async (path, range) => {
    await note(path);
    return workspace.read(path, range);
  };
  const readText = async (path: string): Promise<string> =>
    (await workspace.stat(path)) ? decode(await read(path)) : "";
  /** `after` returns what the file will contain. */
  const requireAsked = async (path: string, after: () => Promise<string>): Promise<void> => {
    const says = await findUnasked(path, asked, { before: () => readText(path), after });
    if (says !== undefined) throw refuseUnasked(path, says);
  };
  return {
    folder: workspace.folder,
    plainPath: (path) => workspace.plainPath(path),
    stat: (path) => workspace.stat(path),
    read,
    list: async function* (directory, entered) {
      const folder = workspace.plainPath(directory);
      for await (const file of workspace.list(directory, entered)) {
        await tracker.listFile(file.path, folder);
        yield file;
      }
    },
    write: async (path, content) => {
      check(`write ${path}`);
      await requireAsked(path, async () => decode(content));
      return workspace.write(path, content);
    },
    append: async (path, content) => {
      check(`append to ${path}`);
      await requireAsked(path, async () => (await readText(path)) + decode(content));
      await note(path);
      return workspace.append(path, content);
    },
    truncate: async (path, bytes) => {
      check(`truncate ${path}`);
      await requireAsked(path, () => readText(path));
      await note(path);
      return workspace.truncate(path, bytes);
    },
    remove: async (path, options) => {
      check(`remove ${path}`);
      await note(path);
      return workspace.remove(path, options);
    },
    removeWhole: async (path) => {
      check(`remove ${path}`);
      return workspace.removeWhole(path);
    },
    move: async (from, to) => {
      check(`move ${from}`);
      await requireAsked(to, () => readText(from));
      await note(from);
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
