/** execute_python_file -- runs a Python file of the workspace as a cell, in the same namespace as run_code. */
import { defineCommand } from "#core/command.ts";
import type { CellStart } from "#core/services.ts";

interface Prepared {
  readonly start: CellStart;
  /** Read once: the code may change its own file, and a second run must run the same code. */
  readonly code: string;
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
    const code = Buffer.from(await workspace.read(file)).toString("utf8");
    return { start: use("cells").begin("python"), code };
  },

  async run({ file }, context, prepared) {
    const { start, code } = prepared as Prepared;
    return context.use("cells").run({ language: "python", code, name: file, ...start }, context);
  },
});
