/** command-names.ts -- the commands that other parts than their own file know by name. */

/** Ends the work. */
export const TASK_COMPLETE = "task_complete";
export const DO_NOTHING = "do_nothing";
export const THINK = "think";

/** The commands that change the plan. */
export const PLAN_COMMANDS: readonly string[] = ["add_task", "modify_task"];

/** The commands that change the agent's own long-term memory. */
export const MEMORY_COMMANDS: readonly string[] = ["remember", "correct_memory", "forget_memory"];

/** Commands that change nothing but the agent's own thoughts and plan. */
export const PASSIVE_COMMANDS: ReadonlySet<string> = new Set([THINK, DO_NOTHING, ...PLAN_COMMANDS]);
