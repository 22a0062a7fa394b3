/** execute_python_file -- runs a Python file of the workspace as a cell, in the same namespace as run_code. */
import { hash } from "node:crypto";
import { defineCommand, fail } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import type { CellStart } from "#core/services.ts";
import { decodeUtf8 } from "#util/media-format.ts";

interface Prepared {
  readonly start: CellStart;
  /** Read once: the code may change its own file, and a second run must run the same code. */
  readonly code: string;
  /** Hash of the bytes of the file. */
  readonly sha256: string;
}

export default defineCommand({
  name: "execute_python_file",
  label: "Execute Python File",
  group: "code",
  summary: "runs a Python file of the workspace in the namespace of run_code.",
  args: {
    type: "object",
    properties: {
      file: { type: "string", description: "relative path", minLength: 1 },
    },
    required: ["file"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: false, restorable: true },
  effect: "transactional",
  timeoutMs: 3_600_000,
  needs: ["cells"],

  async prepare({ file }, { workspace, use }): Promise<Prepared> {
    const bytes = await workspace.read(file);
    const sha256 = hash("sha256", bytes);
    const code = decodeUtf8(bytes)?.replace(/^\uFEFF/, "");
    if (code === undefined)
      throw new GoaldError("GOALD_FILE", `${file} is not UTF-8 text, so it was not run.`, {
        hint: "Save it in UTF-8 first.",
      });
    return { start: use("cells").begin(), code, sha256 };
  },

  async run({ file }, context, prepared) {
    const { start, code, sha256 } = prepared as Prepared;
    const { script } = context;
    if (script && script.sha256 !== sha256)
      return fail(
        "file-changed",
        `${file} was not run: it has changed since a person was asked about its code. Call execute_python_file again, and the person is asked about the new code.`,
      );
    return context.use("cells").run({ code, name: file, ...start }, context);
  },
});
