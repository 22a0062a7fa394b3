/** plan-schemas.ts -- the argument and the result of `Control.editPlan`, as JSON Schema with TypeScript types. */
import { MAX_TASK_CHARS, type PlanEdit, TASK_STATES, type TaskChange } from "#core/plan.ts";
import {
  anyOf,
  closed,
  described,
  listOf,
  nullable,
  oneOf,
  open,
  type Schema,
  type Static,
  text,
} from "#util/schema.ts";
import { AgentView } from "#views/agent-view.ts";
import { filledLines, key } from "./schemas.ts";

const taskId: Schema<string> = {
  ...{ type: "string", minLength: 1, maxLength: 100 },
  description: "The id of a task, such as 0.1.2; 0 is the task above all others.",
};
const state = oneOf(...TASK_STATES);
const goal: Schema<string> = { ...filledLines, maxLength: MAX_TASK_CHARS };

export const PlanEdits = closed(
  {
    edits: listOf<PlanEdit>(
      anyOf(
        closed({ kind: oneOf("add"), parent: taskId, goal }),
        closed({
          kind: oneOf("set"),
          id: taskId,
          state: described(state, "Of the task and, by the state, of those above or below."),
        }),
      ),
      { minItems: 1, maxItems: 50 },
    ),
    key,
  },
  "key",
);
export type PlanEdits = Static<typeof PlanEdits>;

export const PlanEdited = open({
  agent: AgentView,
  note: text,
  changes: described(
    listOf<TaskChange>(open({ id: text, goal: text, from: nullable(state), to: state })),
    "The tasks whose state changes; `from` is null for a new task.",
  ),
});
export type PlanEdited = Static<typeof PlanEdited>;
