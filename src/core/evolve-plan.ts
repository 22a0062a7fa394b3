/** evolve-plan.ts -- folds changes of the plan and checks of goals into the state. Pure. */
import { offersPlan } from "./command-profile.ts";
import type { EventOf } from "./event.ts";
import { isOpenedByWords } from "./evolve-turn.ts";
import { type At, inEveryFrame, withMessageForAll } from "./fold.ts";
import { addTask, createPlan, MAX_TASK_CHARS, nextTaskId, type PlanTask, setTask } from "./plan.ts";
import type { AgentState } from "./state.ts";
import { headOf, oneLine } from "./text.ts";

/**
 * The plan that the prompt shows and that must be finished before the turn ends. Null: the model makes none, and need not, or its
 * profile leaves the commands of the plan out, so that it could close none. A plan begins with what the turn is for: the goals, or
 * the words that opened it.
 */
export function planOf(state: AgentState): PlanTask | null {
  const { plan, form, commands } = state.settings;
  if (!offersPlan(commands)) return null;
  return state.plan ?? (plan === "required" || form === "plan" ? startPlan(state) : null);
}

/** The plan, or the one that the first change of it begins with. */
export const startPlan = (state: AgentState): PlanTask => state.plan ?? createPlan(subjectOf(state));

/** The purpose of the turn: the goals, or the words that opened it. */
export const subjectOf = (state: AgentState): readonly string[] =>
  isOpenedByWords(state)
    ? [oneLine(state.asked.map(({ text }) => headOf(text)).join(" "), MAX_TASK_CHARS)]
    : state.goals;

/** The agent's checks count in the turns that its goals opened. */
export const hasChecks = ({ checks, goalsTurn, turn }: AgentState): boolean => checks.length > 0 && goalsTurn === turn;

export function taskAdded(state: AgentState, event: EventOf<"task-added"> & At): AgentState {
  const plan = startPlan(state);
  const added = { ...state, plan: addTask(plan, event.parent, event.task) };
  return event.by === "person"
    ? told(added, event, `Added ${nextTaskId(plan, event.parent)}: ${event.task.goal}`)
    : added;
}

export function taskChanged(state: AgentState, event: EventOf<"task-changed"> & At): AgentState {
  const changed = { ...state, plan: setTask(startPlan(state), event.id, event.state) };
  return event.by === "person" ? told(changed, event, `Task ${event.id} is ${event.state} now.`) : changed;
}

/** A failed check counts as a refused end of the work; checks that passed start the count again. */
export function goalsChecked(state: AgentState, { results }: EventOf<"goals-checked">): AgentState {
  const isPassed = results.every((result) => result.isPassed);
  const others = state.proofs.filter(({ check }) => !results.some((result) => result.check === check));
  const proofs = [...others, ...results].sort((a, b) => a.check - b.check);
  return { ...state, proofs, refusals: isPassed ? 0 : state.refusals + 1 };
}

const OPENING = "I changed your plan.";

/** Changes that were sent together are one message, so that they do not push nine others out of short-term memory. */
function told(state: AgentState, at: At, what: string): AgentState {
  const calm = { ...state, refusals: 0 };
  const last = state.frames[0].window.at(-1);
  if (last?.seq === at.seq - 1 && typeof last.text === "string" && last.text.startsWith(OPENING))
    return inEveryFrame(calm, (frame) => {
      const { window } = frame;
      const joined = { ...last, seq: at.seq, text: `${last.text}\n${what}` };
      return window.at(-1)?.seq === last.seq ? { ...frame, window: window.with(-1, joined) } : frame;
    });
  const message = { kind: "feedback", from: "person", status: null, source: "person" } as const;
  return withMessageForAll(calm, at, { ...message, text: `${OPENING}\n${what}`, step: state.step });
}
