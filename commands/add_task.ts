/**
 * add_task -- adds a task to the agent's plan, with its subtasks.
 *
 * Subtasks may have subtasks of their own, to any depth. The schema names the first level only: strict servers take no
 * schema that contains itself, and the model reads every level in its list of commands.
 */
import { defineCommand, succeed } from "#core/command.ts";
import { GoaldError } from "#core/errors.ts";
import { joinNames, oneLine } from "#core/text.ts";

const MAX_NAMED = 10;
const goal = { type: "string", description: "what to do" } as const;

export default defineCommand({
  name: "add_task",
  label: "Add task",
  group: "plan",
  summary: "adds a task to your plan.",
  args: {
    type: "object",
    properties: {
      parent: { type: "string", description: "task id, such as 0" },
      goal,
      subtasks: { type: "array", items: { type: "object", properties: { goal }, required: ["goal"] } },
    },
    required: ["parent", "goal"],
  },
  annotations: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  returns: { type: "string" },
  effect: "transactional",
  needs: ["plan"],

  async run({ parent: written, ...asked }, { stage, use }) {
    const parent = written.trim();
    const task = readTask(asked);
    const [id = "", ...below] = use("plan").checkAddition(parent, task);
    stage({ kind: "task-added", parent, task });
    const parts = below.length === 0 ? "" : `, with ${joinNames(below, MAX_NAMED)}`;
    return succeed(`Added ${id}${parts}.`, { value: id });
  },
});

interface Task {
  readonly goal: string;
  readonly subtasks?: readonly Task[];
}

/** A goal is one line. It keeps its length, so that a long one is refused. */
function readTask(value: unknown): Task {
  const { goal, subtasks = [], ...others } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isTask = typeof goal === "string" && Array.isArray(subtasks) && Object.keys(others).length === 0;
  if (!isTask)
    throw new GoaldError(
      "GOALD_PLAN",
      `Expected each subtask as {"goal": "…"}, with its own list of subtasks where it has any, got ${oneLine(JSON.stringify(value), 200)}.`,
    );
  const task = { goal: oneLine(goal, goal.length) };
  return subtasks.length === 0 ? task : { ...task, subtasks: subtasks.map(readTask) };
}
