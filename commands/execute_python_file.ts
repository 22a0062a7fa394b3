/** execute_python_file -- runs a Python file of the workspace in the sandbox, which can access only the workspace. */
import { defineCommand, fail, succeed } from "#core/command.ts";

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
  effect: "at-most-once",
  timeoutMs: 300_000,
  needs: ["sandbox"],

  async run({ file }, { use, signal }) {
    const { exitCode, output, changed } = await use("sandbox").runPythonFile(file, [], signal);
    const shown = output === "" ? "It printed nothing." : output;
    if (exitCode === 0) return succeed(shown, { source: "workspace", artifacts: changed });
    const text = `${file} ended with exit code ${exitCode}.\n${shown}`;
    return fail("exit-code", text, { source: "workspace", artifacts: changed });
  },
});
