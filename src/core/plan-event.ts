/** plan-event.ts -- what happens to an agent's plan, and the checks of its goals. */
import type { CheckResult } from "./goal-check.ts";
import type { NewTask, TaskState } from "./plan.ts";

type ChangedBy = { readonly by: "agent"; readonly step: number; readonly callId: string } | { readonly by: "person" };

export type PlanEvent =
  | ({
      readonly type: "task-added";
      /** Id of the task that it was added to. */
      readonly parent: string;
      readonly task: NewTask;
    } & ChangedBy)
  | ({
      readonly type: "task-changed";
      readonly id: string;
      readonly state: TaskState;
    } & ChangedBy)
  /** Checks of goals ran, because the agent reported them as reached. */
  | {
      readonly type: "goals-checked";
      readonly step: number;
      readonly callId: string;
      readonly results: readonly CheckResult[];
    };
