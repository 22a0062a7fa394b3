/**
 * delete_file -- removes one file.
 *
 * Its content is first kept in the file history. A missing file is a success. Only the content that `prepare` saw is removed:
 * content written since, such as between a crash and a second attempt, stays.
 */
import { hash } from "node:crypto";
import { defineCommand, fail, succeed, type Workspace } from "#core/command.ts";

/** The file as `preserve` recorded it. */
type SeenFile = NonNullable<Awaited<ReturnType<Workspace["preserve"]>>>;

export default defineCommand({
  name: "delete_file",
  label: "Delete file",
  group: "files",
  summary: "removes one file; folders stay.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
    },
    required: ["file"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  effect: "idempotent",

  async prepare({ file }, { workspace }): Promise<SeenFile | null> {
    return (await workspace.preserve(file)) ?? null;
  },

  async run({ file }, { workspace }, prepared) {
    const seen = prepared as SeenFile | null;
    const found = await workspace.stat(file);
    const path = found?.path ?? file;
    if (found && !(seen && found.bytes === seen.bytes && (await hashFile(workspace, path)) === seen.sha256))
      return fail(
        "changed-since",
        `${path} was not deleted: another content was put there after the command had begun. Look at it, and ask again if it is to go.`,
      );
    if (!found && seen === null) return succeed(`${path} was not there, so nothing was deleted.`);
    await workspace.remove(file, { wasThere: seen !== null });
    return succeed(`Deleted ${path}.`, { artifacts: [path] });
  },
});

async function hashFile(workspace: Workspace, path: string): Promise<string> {
  return hash("sha256", await workspace.read(path), "hex");
}
