/**
 * delete_file -- one file less.
 *
 * What it held is kept in the file history first, so it can be restored. A file that is
 * not there is what was wanted: no failure.
 */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "delete_file",
  label: "Delete file",
  summary: "removes one file; folders stay.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "Relative path of a file", hint: "file", minLength: 1 },
    },
    required: ["file"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  effect: "idempotent",

  async prepare({ file }, { workspace }) {
    return (await workspace.preserve(file)) ?? null;
  },

  async run({ file }, { workspace }, prepared) {
    const path = (await workspace.stat(file))?.path ?? file;
    const removed = await workspace.remove(file);
    if (!removed && prepared === null) return succeed(`${path} was not there, so nothing was deleted.`);
    return succeed(`Deleted ${path}.`, { artifacts: [path] });
  },
});
