/** evolve-turn.ts -- folds turns, the plan and checks of goals. Pure. */
import { offersPlan } from "./agent-settings.ts";
import type { EventOf, RememberedCall, TurnMemory } from "./event.ts";
import { type At, inEveryFrame, inPhase, SHORT_TERM_MESSAGES, withMessageForAll } from "./frames.ts";
import { addTask, createPlan, MAX_TASK_CHARS, nextTaskId, type PlanTask, setTask } from "./plan.ts";
import type { AgentState, Message } from "./state.ts";
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
    ? withPlanWords(added, event, `Added ${nextTaskId(plan, event.parent)}: ${event.task.goal}`)
    : added;
}

export function taskChanged(state: AgentState, event: EventOf<"task-changed"> & At): AgentState {
  const changed = { ...state, plan: setTask(startPlan(state), event.id, event.state) };
  return event.by === "person" ? withPlanWords(changed, event, `Task ${event.id} is ${event.state} now.`) : changed;
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
function withPlanWords(state: AgentState, at: At, what: string): AgentState {
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

/** Characters of the memories of older turns that the state, and so the prompt, keeps beside the newest one; and how many they may be. */
const MAX_OLDER_CHARS = 16_000;
const MAX_OLDER_TURNS = 20;

/**
 * A turn begins without messages: the memories of the earlier turns hold what it needs of them. Messages that came after the last
 * turn stay, such as a helper's report or a restoration of files: the agent has not read them yet.
 */
export function turnStarted(state: AgentState, event: EventOf<"turn-started"> & At): AgentState {
  const { turn, seq } = event;
  const turnBegan = { step: state.step, seq };
  const fresh = { turn, turnBegan, asked: [], plan: null, proofs: [], fallback: null, made: [], refusals: 0 };
  const cleared = inEveryFrame({ ...state, ...fresh }, (frame) => ({
    ...frame,
    // The last turn ended with the result of its closing command.
    window: frame.window.slice(frame.window.findLastIndex(({ kind }) => kind === "result") + 1),
    repetition: null,
    failedCells: 0,
    badReplies: 0,
  }));
  return inPhase(cleared, event, { kind: "thinking" });
}

/** Words before the first step of a later turn are what it is for: they stay in the prompt while it lasts. Nine messages at most. */
export function withWords(state: AgentState, at: At, words: Omit<Message, "seq">): AgentState {
  const { turn, step, turnBegan, asked } = state;
  const isFirst = turn > 1 && step === turnBegan.step && asked.length < SHORT_TERM_MESSAGES;
  return isFirst ? { ...state, asked: [...asked, { seq: at.seq, ...words }] } : withMessageForAll(state, at, words);
}

/** The goals were reported as reached in an earlier turn, and words opened this one. */
export const isOpenedByWords = ({ goalsTurn, turn, asked }: AgentState): boolean =>
  goalsTurn !== turn && asked.length > 0;

export function turnRemembered(state: AgentState, event: EventOf<"turn-remembered"> & At): AgentState {
  const { turn, step, asked, calls, callsLeftOut, artifacts, output, outside } = event;
  const memory = { turn, step, asked, calls, callsLeftOut, artifacts, output, ...(outside ? { outside } : {}) };
  return { ...state, turns: [...keepOlder(state.turns), memory] };
}

/** The newest ones that fit. The oldest of them may lose its first calls. */
function keepOlder(turns: readonly TurnMemory[]): readonly TurnMemory[] {
  const kept: TurnMemory[] = [];
  let room = MAX_OLDER_CHARS;
  for (const turn of turns.slice(-MAX_OLDER_TURNS).toReversed()) {
    const fitted = withNewestCalls(turn, room);
    if (!fitted) break;
    kept.unshift(fitted);
    room -= sizeOfTurn(fitted);
  }
  return kept;
}

/** The memory with as many of its newest calls as fit; undefined when not even its words fit. */
function withNewestCalls(turn: TurnMemory, room: number): TurnMemory | undefined {
  let size = sizeOfTurn(turn);
  let out = 0;
  for (const call of turn.calls) {
    if (size <= room) break;
    size -= sizeOfCall(call);
    out++;
  }
  if (size > room) return undefined;
  if (out === 0) return turn;
  return { ...turn, calls: turn.calls.slice(out), callsLeftOut: turn.callsLeftOut + out };
}

/** Characters. */
const sizeOfTurn = ({ asked, calls, artifacts, output }: TurnMemory): number =>
  [...asked, ...artifacts, output].join("").length + calls.reduce((sum, call) => sum + sizeOfCall(call), 0);
const sizeOfCall = ({ name, input }: RememberedCall): number => name.length + input.length;
