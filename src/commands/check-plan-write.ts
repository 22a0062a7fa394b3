/** check-plan-write.ts -- checks the shape of staged changes of the plan, since commands of a person may break our types. */
import type { PlanWrite } from "#core/command.ts";
import { MAX_PROOF_CHARS } from "#core/goal-check.ts";
import { MAX_TASK_CHARS, type NewTask, TASK_STATES } from "#core/plan.ts";

const MAX_ID_CHARS = 100;

/** Returns the problem of the write, for the end of a sentence; undefined for a valid one. */
export function findPlanProblem(write: PlanWrite): string | undefined {
  switch (write.kind) {
    case "task-added":
      return isId(write.parent) && isTask(write.task) ? undefined : "a task without a parent and a goal";
    case "task-changed":
      return isId(write.id) && TASK_STATES.includes(write.state)
        ? undefined
        : "a task's change without an id and a state";
    case "goals-checked":
      return Array.isArray(write.results) && write.results.every(isResult)
        ? undefined
        : "results of checks that are none";
  }
}

const isId = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_ID_CHARS;

function isTask(value: unknown): value is NewTask {
  const { goal, subtasks = [] } = (value ?? {}) as Record<string, unknown>;
  return isGoal(goal) && Array.isArray(subtasks) && subtasks.every(isTask);
}

/** A longer text would become a blob, which the plan cannot show. */
const isGoal = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_TASK_CHARS;

function isResult(value: unknown): boolean {
  const { check, isPassed, proof } = (value ?? {}) as Record<string, unknown>;
  return (
    Number.isInteger(check) &&
    typeof isPassed === "boolean" &&
    typeof proof === "string" &&
    proof.length <= MAX_PROOF_CHARS
  );
}
