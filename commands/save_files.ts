/**
 * save_files -- writes and removes the files that a cell changed. A step of a cell: nobody else can call it.
 *
 * The arguments name each file and its hash; the contents come from the cell, so that the log does not hold them twice. What
 * the files held before is kept first, up to 2,000 files and 64 MB; the result says what cannot be restored. The first line of
 * the result says what was saved; the others are notes for the cell's result.
 */
import { hash } from "node:crypto";
import { defineCommand, fail, keepFile, succeed, type Workspace } from "#core/command.ts";
import { type GoaldError, isGoaldError } from "#core/errors.ts";
import { countNoun, formatSize } from "#core/text.ts";

const MAX_KEPT_FILES = 2_000;
const MAX_KEPT_BYTES = 64 * 1024 * 1024;
const MAX_NAMED = 10;

interface Before {
  /** Files whose content the history does not have: the first ones, and the number of all. */
  readonly unkept: readonly string[];
  readonly unkeptCount: number;
  /** Files to remove that existed. */
  readonly found: readonly string[];
}

export default defineCommand({
  name: "save_files",
  label: "Save files",
  group: "code",
  summary: "writes the files that a cell changed.",
  isInternal: true,
  args: {
    type: "object",
    properties: {
      files: {
        type: "array",
        items: {
          type: "object",
          properties: {
            path: { type: "string", minLength: 1 },
            sha256: { type: "string" },
            bytes: { type: "integer", minimum: 0 },
            removed: { type: "boolean" },
          },
          required: ["path"],
          additionalProperties: false,
        },
      },
    },
    required: ["files"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: true, openWorld: false, restorable: true },
  effect: "idempotent",
  timeoutMs: 600_000,
  needs: ["cells"],

  async prepare({ files }, { workspace }): Promise<Before> {
    const unkept: string[] = [];
    const found: string[] = [];
    let keptFiles = 0;
    let keptBytes = 0;
    let unkeptCount = 0;
    for (const { path, removed } of files) {
      const before = await workspace.stat(path).catch(ignoreRefusal);
      if (!before) continue;
      if (removed) found.push(path);
      const fits = keptFiles < MAX_KEPT_FILES && keptBytes + before.bytes <= MAX_KEPT_BYTES;
      const kept = fits ? await keepFile(path, workspace) : undefined;
      if (kept && "bytes" in kept) {
        keptFiles++;
        keptBytes += kept.bytes;
      } else if (kept !== null) {
        unkeptCount++;
        if (unkept.length < MAX_NAMED) unkept.push(path);
      }
    }
    return { unkept, unkeptCount, found };
  },

  async run({ files }, { workspace, use }, prepared) {
    const { unkept, unkeptCount, found } = prepared as Before;
    const changes = use("cells").changes();
    const refusals: GoaldError[] = [];
    const saved: string[] = [];
    let bytes = 0;
    for (const { path, sha256, removed } of files) {
      const content = changes.get(path);
      const isHandedOver = removed ? content === null : content && hash("sha256", content, "hex") === sha256;
      if (content === undefined || !isHandedOver) return fail("not-a-cell", "save_files is a step of a cell.");
      const refusal = await change(path, content, found.includes(path), workspace);
      if (refusal) refusals.push(refusal);
      else saved.push(path);
      if (!refusal) bytes += content?.length ?? 0;
    }
    const lines = [
      `Saved ${countNoun(saved.length, "file")} (${formatSize(bytes)}).`,
      ...(unkeptCount > 0 ? [describeUnkept(unkept, unkeptCount)] : []),
    ];
    if (refusals.length === 0) return succeed(lines.join("\n"), { artifacts: saved });
    const more = refusals.length > MAX_NAMED ? [`And ${refusals.length - MAX_NAMED} more.`] : [];
    const named = refusals.slice(0, MAX_NAMED);
    const words = [...named.map(({ message }) => message), ...more, ...new Set(named.map(({ hint }) => hint))];
    return fail("files-not-saved", words.join(" ").trim(), { artifacts: saved });
  },
});

/** Returns the error for which the file stays as it is; undefined after the change. */
async function change(path: string, content: Uint8Array | null, wasThere: boolean, workspace: Workspace) {
  try {
    if (content === null) await workspace.remove(path, { wasThere });
    else await workspace.write(path, content);
    return undefined;
  } catch (error) {
    if (isGoaldError(error) && error.code !== "GOALD_STORE_FULL") return error;
    throw error;
  }
}

function describeUnkept(names: readonly string[], count: number): string {
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  const held = count === 1 ? "it held" : "they held";
  return `What ${held} before cannot be restored: ${names.join(", ")}${more}.`;
}

/** A path that is refused is refused again, in words, when the file is written. */
function ignoreRefusal(error: unknown): undefined {
  if (!isGoaldError(error)) throw error;
}
