/** execute_python_file -- runs a Python file of the workspace in the sandbox, which can access only the workspace. */
import { createHash } from "node:crypto";
import { defineCommand, fail } from "#core/command.ts";
import type { CellStart } from "#core/services.ts";

export default defineCommand({
  name: "execute_python_file",
  label: "Execute Python File",
  group: "code",
  summary: "runs a Python file of the workspace and returns what it printed.",
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

  prepare: async (_args, { use }) => use("cells").begin("python"),

  async run({ file }, context, prepared) {
    const bytes = await context.workspace.read(file);
    const { script } = context;
    if (script && script.sha256 !== createHash("sha256").update(bytes).digest("hex"))
      return fail(
        "file-changed",
        `${file} was not run: it has changed since a person was asked about its code. Call execute_python_file again, and the person is asked about the new code.`,
      );
    const code = Buffer.from(bytes).toString("utf8");
    return context.use("cells").run({ language: "python", code, name: file, ...(prepared as CellStart) }, context);
  },
});
