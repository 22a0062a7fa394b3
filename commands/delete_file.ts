/**
 * delete_file -- removes one file, or permanently a folder or a file of any size.
 *
 * The content of a file is first kept in the file history. A missing file is a success. Only the content that `prepare` saw is
 * removed: content written since, such as between a crash and a second attempt, stays. A file that the history cannot keep is
 * deleted by a nested call with `permanently`, which the policy judges as a loss.
 */
import { hash } from "node:crypto";
import { defineCommand, fail, type KeptFile, keepFile, succeed, type Workspace } from "#core/command.ts";
import { countNoun } from "#core/text.ts";

export default defineCommand({
  name: "delete_file",
  label: "Delete file",
  group: "files",
  summary: "removes one file; permanently: also a folder, or a file over 64 MB.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
      permanently: { type: "boolean", description: "true: nothing of it can be restored, default false" },
    },
    required: ["file"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  destroys: "permanently",
  effect: "idempotent",

  async prepare({ file, permanently }, { workspace }): Promise<KeptFile | null> {
    return permanently ? null : keepFile(file, workspace);
  },

  async run({ file, permanently }, { workspace, call }, prepared) {
    if (permanently) return deleteForGood(workspace.plainPath(file), workspace);
    const seen = prepared as KeptFile | null;
    if (seen && "unkept" in seen) return call("delete_file", { file, permanently: true });
    const found = await workspace.stat(file);
    const path = found?.path ?? file;
    if (found && !(seen && found.bytes === seen.bytes && (await hashFile(workspace, path)) === seen.sha256))
      return fail(
        "changed-since",
        `${path} was not deleted: another content was put there after the command had begun. Look at it, and ask again if it is to go.`,
      );
    if (!found && seen === null) return succeed(`${path} was not there, so nothing was deleted.`, { value: null });
    await workspace.remove(file, { wasThere: seen !== null });
    return succeed(`Deleted ${path}.`, { artifacts: [path], value: path });
  },
});

async function deleteForGood(path: string, workspace: Workspace) {
  const deleted = await workspace.removeWhole(path);
  if (!deleted) return succeed(`${path} was not there, so nothing was deleted.`, { value: null });
  const { files, bytes } = deleted;
  const text = `Deleted ${path} permanently: ${countNoun(files, "file")}, ${countNoun(bytes, "byte")}. The history kept nothing of it.`;
  return succeed(text, { artifacts: [path], value: path });
}

async function hashFile(workspace: Workspace, path: string): Promise<string> {
  return hash("sha256", await workspace.read(path), "hex");
}
