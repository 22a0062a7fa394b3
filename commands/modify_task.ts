/**
 * modify_task -- sets the state of a task, and with it of those below or above it.
 *
 * Before the task of a goal becomes verified, the checks of this goal run. When one fails, the plan stays as it is and the
 * result has the reasons.
 */
import { defineCommand, succeed } from "#core/command.ts";
import { joinNames } from "#core/text.ts";

const MAX_NAMED = 10;

export default defineCommand({
  name: "modify_task",
  label: "Modify task",
  group: "plan",
  summary: "sets the state of a task.",
  args: {
    type: "object",
    properties: {
      id: { type: "string", description: "task id" },
      state: { type: "string", description: "one of: in_progress|completed|verified|abandoned|open" },
    },
    required: ["id", "state"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  effect: "transactional",
  needs: ["plan"],

  async run({ id: written, state: asked }, { call, stage, use }) {
    const id = written.trim();
    const { state, from, changed, goals } = use("plan").checkChange(id, asked);
    if (changed.length === 0) return succeed(`Task ${id} is ${state} already, and nothing changed.`);
    if (goals.length > 0) {
      const checked = await call("check_goals", { goals });
      if (checked.status !== "ok") return checked;
    }
    stage({ kind: "task-changed", id, state });
    const others = changed.filter((each) => each !== id);
    const own = from === state ? `Task ${id} is still ${state}` : `Task ${id} was ${from} and is ${state} now`;
    if (others.length === 0) return succeed(`${own}.`);
    return succeed(`${own}, and so ${others.length === 1 ? "is" : "are"} ${joinNames(others, MAX_NAMED)}.`);
  },
});
