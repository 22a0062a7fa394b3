/**
 * write_to_file -- replaces the content of one file.
 *
 * The new content is renamed into place, so a second run has the same result. The old content is first kept in the file
 * history.
 */
import { hash } from "node:crypto";
import { clearUnkept, defineCommand, type KeptFile, keepFile, succeed } from "#core/command.ts";
import { countNoun } from "#core/text.ts";
import { countLines } from "#util/near-text.ts";

export default defineCommand({
  name: "write_to_file",
  label: "Write to file",
  group: "files",
  summary: "replaces the whole file; makes missing folders.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path, such as notes/plan.md", minLength: 1 },
      text: { type: "string", description: "the whole new content" },
    },
    required: ["file", "text"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  writes: { file: "text" },
  effect: "idempotent",

  async prepare({ file }, { workspace }) {
    return keepFile(file, workspace);
  },

  async run({ file, text }, { workspace, call }, prepared) {
    const before = prepared as KeptFile | null;
    const refused = await clearUnkept(file, before, { call });
    if (refused) return refused;
    await workspace.write(file, text);
    const written = await workspace.stat(file);
    const path = written?.path ?? file;
    const size = `${countNoun(countLines(Buffer.from(text)), "line")}, ${countNoun(written?.bytes ?? 0, "byte")}`;
    return succeed(`Wrote ${path} (${size}); ${describeReplaced(before, text)}.`, { artifacts: [path], value: path });
  },
});

function describeReplaced(before: KeptFile | null, text: string): string {
  if (before === null) return "the file is new";
  if ("unkept" in before) return "the old file was deleted permanently";
  if (before.bytes === Buffer.byteLength(text) && before.sha256 === hash("sha256", text, "hex"))
    return "it held exactly this text already";
  return `it replaced ${countNoun(before.bytes, "byte")}`;
}
