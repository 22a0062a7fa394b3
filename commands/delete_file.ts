/**
 * delete_file -- one file less.
 *
 * What it held is kept in the file history first, so it can be restored. A file that is
 * not there is what was wanted: no failure. Only what `prepare` saw is removed: what somebody put there
 * since, as between a crash and the second attempt, stays.
 */
import { hash } from "node:crypto";
import { type CommandContext, defineCommand, fail, succeed } from "#core/command.ts";

type Workspace = CommandContext["workspace"];

/** The file that is to go, as `preserve` kept it. */
type Seen = NonNullable<Awaited<ReturnType<Workspace["preserve"]>>>;

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

  async prepare({ file }, { workspace }): Promise<Seen | null> {
    return (await workspace.preserve(file)) ?? null;
  },

  async run({ file }, { workspace }, prepared) {
    const seen = prepared as Seen | null;
    const found = await workspace.stat(file);
    const path = found?.path ?? file;
    if (found && !(seen && found.bytes === seen.bytes && (await sha256Of(workspace, path)) === seen.sha256))
      return fail(
        "changed-since",
        `${path} was not deleted: another content was put there after the command had begun. Look at it, and ask again if it is to go.`,
      );
    if (!found && seen === null) return succeed(`${path} was not there, so nothing was deleted.`);
    await workspace.remove(file, { wasThere: seen !== null });
    return succeed(`Deleted ${path}.`, { artifacts: [path] });
  },
});

async function sha256Of(workspace: Workspace, path: string): Promise<string> {
  return hash("sha256", await workspace.read(path), "hex");
}
