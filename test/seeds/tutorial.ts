/** tutorial.ts -- the example of seed 002: a tutorial is planned, written to a file, checked and closed, one action at a time. */
import type { PlanTask } from "#core/plan.ts";
import type { Line, Seen } from "../helpers/conditional-model.ts";

export const TUTORIAL_GOAL =
  "Write a tutorial for a blog on how to build an autonomous agent on a language model, and save it to a text file.";
export const TUTORIAL_FILE = "tutorial.txt";
export const TUTORIAL =
  "How to build an agent\n\n1. Keep a plan.\n2. Act, and observe what comes of it.\n3. Stop when done.\n";
const PARTS = ["Think of an outline", `Write it to ${TUTORIAL_FILE}`, "Check the file"];
const OUTLINE = "Plan, actions, observations, memory, the loop.";

type ShownTask = Pick<PlanTask, "goal" | "state"> & { readonly subtasks?: readonly ShownTask[] };

/** The plan in the last message. */
function planIn({ last }: Seen): ShownTask {
  const [, , json = ""] = /<data-([\w-]+)>\n(\{"id":"0",.*\})\n<\/data-\1>/.exec(last) ?? [];
  if (json === "") throw new Error(`The prompt shows no plan:\n${last}`);
  return JSON.parse(json);
}

const act = (action: string, args: object = {}): string => JSON.stringify({ action, args });
const set = (id: string, state: string): string => act("modify_task", { id, state });
const has = (seen: Seen, words: string): boolean => seen.own.some((reply) => reply.includes(words));
const partsIn = (seen: Seen): readonly ShownTask[] => planIn(seen).subtasks ?? [];

/** The model decides by the plan and the history alone. */
export const TUTORIAL_LINES: readonly Line[] = [
  {
    when: (seen) => partsIn(seen).length < PARTS.length,
    say: (seen) => act("add_task", { parent: "0", goal: PARTS[partsIn(seen).length] }),
  },
  { when: (seen) => planIn(seen).state === "open", say: set("0.1", "in_progress") },
  { when: (seen) => !has(seen, OUTLINE), say: act("think", { thought: OUTLINE }) },
  {
    when: (seen) => !seen.all.includes('"observation":"write_to_file"'),
    say: `Here it is: ${act("write", { path: TUTORIAL_FILE, contents: TUTORIAL })}`,
  },
  { when: (seen) => planIn(seen).state === "in_progress", say: set("0", "completed") },
  { when: (seen) => planIn(seen).state === "completed", say: set("0", "verified") },
  { say: act("finish") },
];

/** Requests of a run that nothing interrupts. */
export const TUTORIAL_STEPS = 9;

const verified = (goal: string): PlanTask => ({ goal, state: "verified", subtasks: [] });
/** The plan at the end. A task's id is its place. */
export const TUTORIAL_PLAN: PlanTask = { ...verified(TUTORIAL_GOAL), subtasks: PARTS.map(verified) };
