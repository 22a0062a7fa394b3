/** execute_python_file -- runs a Python file of the workspace in the sandbox, which can access only the workspace. */
import { defineCommand } from "#core/command.ts";
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
    const code = Buffer.from(await context.workspace.read(file)).toString("utf8");
    return context.use("cells").run({ language: "python", code, name: file, ...(prepared as CellStart) }, context);
  },
});
