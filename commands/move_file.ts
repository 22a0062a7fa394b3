/**
 * move_file -- gives one file another name or folder, and replaces nothing.
 *
 * The file is renamed in one step, so after a crash it is at one of the two places, and a second run completes the
 * history. Only the content that `prepare` saw is moved. Folders are not moved.
 */
import { hash } from "node:crypto";
import { defineCommand, fail, succeed, type Workspace } from "#core/command.ts";

/** The file as `preserve` recorded it. */
type SeenFile = NonNullable<Awaited<ReturnType<Workspace["preserve"]>>>;

export default defineCommand({
  name: "move_file",
  label: "Move file",
  group: "files",
  summary: "moves or renames one file; replaces nothing.",
  args: {
    type: "object",
    properties: {
      from: { type: "string", description: "relative path", minLength: 1 },
      to: { type: "string", description: "new relative path", minLength: 1 },
    },
    required: ["from", "to"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  writes: { to: null },
  effect: "idempotent",

  async prepare({ from, to }, { workspace }): Promise<SeenFile | null> {
    if (await workspace.stat(to)) return null;
    return (await workspace.preserve(from)) ?? null;
  },

  async run({ from, to }, { workspace }, prepared) {
    const seen = prepared as SeenFile | null;
    const source = await workspace.stat(from);
    const target = await workspace.stat(to);
    if (!source && target && seen && (await hashFile(workspace, to)) === seen.sha256) {
      // An earlier attempt moved the file, and the crash came before the history recorded it.
      await workspace.preserve(to);
      await workspace.remove(from, { wasThere: true });
      return succeed(`Moved ${from} to ${target.path}.`, { artifacts: [target.path], value: target.path });
    }
    if (!source)
      return fail("file-missing", `There is no file ${JSON.stringify(from)}. search_files shows what there is.`);
    if (target)
      return fail(
        "file-exists",
        `${target.path} exists already, so ${source.path} was not moved. Choose another name, or delete that file first.`,
      );
    if (!seen || (await hashFile(workspace, from)) !== seen.sha256)
      return fail(
        "changed-since",
        `${source.path} was changed by somebody else meanwhile, so it was not moved. Look at it, and ask again.`,
      );
    await workspace.move(from, to);
    const path = (await workspace.stat(to))?.path ?? to;
    return succeed(`Moved ${source.path} to ${path}.`, { artifacts: [path, source.path], value: path });
  },
});

async function hashFile(workspace: Workspace, path: string): Promise<string> {
  return hash("sha256", await workspace.read(path), "hex");
}
