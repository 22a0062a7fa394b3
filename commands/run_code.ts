/** run_code -- runs code in the agent's namespace, which lasts from cell to cell. It acts only through nested calls. */
import { defineCommand } from "#core/command.ts";
import type { CellStart } from "#core/services.ts";

export default defineCommand({
  name: "run_code",
  label: "Run code",
  group: "code",
  summary:
    "runs Python: its standard library, no packages, network or shell; names last, commands are functions; shows the last expression or what was printed.",
  args: {
    type: "object",
    properties: {
      code: { type: "string", description: "Python code", minLength: 1 },
    },
    required: ["code"],
  },
  annotations: { readOnly: false, destructive: true, idempotent: false, openWorld: false, restorable: true },
  effect: "transactional",
  // The sandbox limits the time of the code. This limit is for the wait for a free process.
  timeoutMs: 3_600_000,
  needs: ["cells"],

  prepare: async (_args, { use }) => use("cells").begin(),

  async run({ code }, context, prepared) {
    const name = `cell ${context.callId}`;
    return context.use("cells").run({ code, name, ...(prepared as CellStart) }, context);
  },
});
