/**
 * append_to_file -- text at the end of a file, exactly once.
 *
 * `prepare` records the file's size and the hash of its last bytes. After a crash `probe`
 * compares: the text stands behind that point, or it does not, or something else does.
 * A torn append (only the beginning of the text is there) counts as not done, and `run`
 * cuts it back before it writes. The cost does not depend on the size of the file.
 */
import { hash } from "node:crypto";
import { type CommandContext, defineCommand, type Probe, succeed } from "#core/command.ts";

type Workspace = CommandContext["workspace"];

/** The file before the append. `tail` is the SHA-256 of its last bytes, null when there was no file. */
interface Before {
  readonly bytes: number;
  readonly tail: string | null;
}
const TAIL_BYTES = 4096;

export default defineCommand({
  name: "append_to_file",
  label: "Append to file",
  summary: "adds exactly this text at the end; give the line breaks yourself.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "Relative path; made when it is missing", hint: "file", minLength: 1 },
      text: { type: "string", description: "What to add, with its line breaks", hint: "text" },
    },
    required: ["file", "text"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  effect: "reconcilable",

  async prepare({ file }, { workspace }): Promise<Before> {
    const bytes = (await workspace.stat(file))?.bytes;
    return bytes === undefined ? { bytes: 0, tail: null } : { bytes, tail: await tailBefore(workspace, file, bytes) };
  },

  async run({ file, text }, { workspace }, prepared) {
    const before = prepared as Before;
    // Longer than it was: a torn piece of an earlier attempt, or somebody else's. As long as before: nothing of ours is there.
    const isLonger = ((await workspace.stat(file))?.bytes ?? 0) > before.bytes;
    if (isLonger && (await compare(workspace, file, text, before)) === "torn")
      await workspace.truncate(file, before.bytes);
    const { path, bytes } = await workspace.append(file, text);
    return succeed(`Added ${Buffer.byteLength(text)} bytes to the end of ${path}, which now has ${bytes}.`, {
      artifacts: [path],
    });
  },

  async probe({ file, text }, { workspace }, prepared): Promise<Probe> {
    const found = await compare(workspace, file, text, prepared as Before);
    if (found === "torn") return "not-done";
    // The piece was never told to the file history: the crash came first. Told now, as far as it can be.
    if (found === "done") await workspace.preserve(file).catch(() => undefined);
    return found;
  },
});

async function compare(workspace: Workspace, file: string, text: string, before: Before): Promise<Probe | "torn"> {
  const bytes = (await workspace.stat(file))?.bytes;
  if (bytes === undefined) return before.tail === null ? "not-done" : "unknown";
  if (bytes < before.bytes) return "unknown";
  if (before.tail !== null && (await tailBefore(workspace, file, before.bytes)) !== before.tail) return "unknown";
  const wanted = new TextEncoder().encode(text);
  const added = await workspace.read(file, { offset: before.bytes, length: wanted.length });
  if (!added.every((byte, index) => byte === wanted[index])) return "unknown";
  if (added.length < wanted.length) return added.length === 0 ? "not-done" : "torn";
  return "done";
}

/** Hash of up to 4,096 bytes that end at `end`. */
async function tailBefore(workspace: Workspace, file: string, end: number): Promise<string> {
  const offset = Math.max(0, end - TAIL_BYTES);
  const tail = await workspace.read(file, { offset, length: end - offset });
  return hash("sha256", tail, "hex");
}
