/** task_complete -- reports that the goals are reached. Checks of the goals must pass; the loop decides what follows. */
import { defineCommand, succeed } from "#core/command.ts";

export default defineCommand({
  name: "task_complete",
  label: "Task Complete (Shutdown)",
  group: "loop",
  summary: "ends the work, once every goal is reached.",
  args: {
    type: "object",
    properties: {
      reason: { type: "string", description: "what was reached, and in which files" },
    },
    required: ["reason"],
  },
  annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  effect: "pure",
  closesTurn: true,

  async run({ reason }, { agent, call }) {
    if (agent.checks.length > 0) {
      const checked = await call("check_goals", { goals: agent.goals.map((_goal, index) => index) });
      if (checked.status !== "ok") return checked;
    }
    return succeed(reason.trim() || "The model gave no reason.", { source: "model" });
  },
});
