/**
 * append_to_file -- appends text to a file exactly once.
 *
 * `prepare` records the size of the file and the hash of its last bytes. After a crash, `probe` compares: the text
 * follows that point, is missing, or something else follows. A torn append (only a part of the text) counts as
 * not done, and `run` truncates it before it appends. The cost does not depend on the size of the file.
 */
import { hash } from "node:crypto";
import { defineCommand, type Probe, succeed, type Workspace } from "#core/command.ts";
import { countNoun } from "#core/text.ts";

/** The file before the append. `tail` is the SHA-256 of its last bytes, null for a missing file. */
interface FileBefore {
  readonly bytes: number;
  readonly tail: string | null;
}
const TAIL_BYTES = 4096;

export default defineCommand({
  name: "append_to_file",
  label: "Append to file",
  group: "files",
  summary: "adds exactly this text at the end of a file.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
      text: { type: "string", description: "what to add, with its line breaks" },
    },
    required: ["file", "text"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  writes: { file: null },
  effect: "reconcilable",

  async prepare({ file }, { workspace }): Promise<FileBefore> {
    const bytes = (await workspace.stat(file))?.bytes;
    return bytes === undefined ? { bytes: 0, tail: null } : { bytes, tail: await hashTail(workspace, file, bytes) };
  },

  async run({ file, text }, { workspace }, prepared) {
    const before = prepared as FileBefore;
    // Only a longer file can end in a torn append of an earlier attempt.
    const isLonger = ((await workspace.stat(file))?.bytes ?? 0) > before.bytes;
    if (isLonger && (await compareWithBefore(workspace, file, text, before)) === "torn")
      await workspace.truncate(file, before.bytes);
    const { path, bytes } = await workspace.append(file, text);
    return succeed(
      `Added ${countNoun(Buffer.byteLength(text), "byte")} to the end of ${path}, which now has ${bytes}.`,
      {
        artifacts: [path],
        value: path,
      },
    );
  },

  async probe({ file, text }, { workspace }, prepared): Promise<Probe> {
    const found = await compareWithBefore(workspace, file, text, prepared as FileBefore);
    if (found === "torn") return "not-done";
    // The crash came before the file history recorded the append.
    if (found === "done") await workspace.preserve(file).catch(() => undefined);
    return found;
  },
});

async function compareWithBefore(
  workspace: Workspace,
  file: string,
  text: string,
  before: FileBefore,
): Promise<Probe | "torn"> {
  const bytes = (await workspace.stat(file))?.bytes;
  if (bytes === undefined) return before.tail === null ? "not-done" : "unknown";
  if (bytes < before.bytes) return "unknown";
  if (before.tail !== null && (await hashTail(workspace, file, before.bytes)) !== before.tail) return "unknown";
  const wanted = new TextEncoder().encode(text);
  const added = await workspace.read(file, { offset: before.bytes, length: wanted.length });
  if (!added.every((byte, index) => byte === wanted[index])) return "unknown";
  if (added.length < wanted.length) return added.length === 0 ? "not-done" : "torn";
  return "done";
}

/** Hashes up to 4,096 bytes that end at `end`. */
async function hashTail(workspace: Workspace, file: string, end: number): Promise<string> {
  const offset = Math.max(0, end - TAIL_BYTES);
  const tail = await workspace.read(file, { offset, length: end - offset });
  return hash("sha256", tail, "hex");
}
