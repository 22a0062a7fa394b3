/**
 * write_to_file -- replaces the content of one file.
 *
 * The new content is renamed into place, so a second run has the same result. The old content is first kept in the file
 * history.
 */
import { hash } from "node:crypto";
import { defineCommand, succeed } from "#core/command.ts";
import { countNoun } from "#core/text.ts";

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
    return (await workspace.preserve(file)) ?? null;
  },

  async run({ file, text }, { workspace }, prepared) {
    await workspace.write(file, text);
    const written = await workspace.stat(file);
    const path = written?.path ?? file;
    const size = `${countNoun(countLines(text), "line")}, ${countNoun(written?.bytes ?? 0, "byte")}`;
    return succeed(`Wrote ${path} (${size}); ${describeReplaced(prepared, text)}.`, { artifacts: [path] });
  },
});

function describeReplaced(prepared: unknown, text: string): string {
  const before = prepared as { readonly bytes: number; readonly sha256: string } | null;
  if (before === null) return "the file is new";
  if (before.bytes === Buffer.byteLength(text) && before.sha256 === hash("sha256", text, "hex"))
    return "it held exactly this text already";
  return `it replaced ${countNoun(before.bytes, "byte")}`;
}

/** Counts a last line without a line end too. */
const countLines = (text: string): number =>
  text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
