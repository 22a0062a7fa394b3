/** evolve-turn.ts -- folds the beginning of a turn, what it is for, and what is remembered of it. Pure. */
import type { EventOf } from "./event.ts";
import { type At, inEveryFrame, inPhase, withMessageForAll } from "./fold.ts";
import type { Message } from "./frame.ts";
import type { AgentState } from "./state.ts";
import type { RememberedCall, TurnMemory } from "./turn-event.ts";
import { SHORT_TERM_MESSAGES } from "./window.ts";

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
    ...{ window: unreadMessages(frame.window), repetition: null, failedCells: 0, badReplies: 0 },
  }));
  return inPhase(cleared, event, { kind: "thinking" });
}

/** The last turn ended with the result of its closing command. */
const unreadMessages = (window: readonly Message[]): readonly Message[] =>
  window.slice(window.findLastIndex(({ kind }) => kind === "result") + 1);

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

/** The memory with as many of its newest calls as fit; undefined when none of them fits. */
function withNewestCalls(turn: TurnMemory, room: number): TurnMemory | undefined {
  let size = sizeOfTurn(turn);
  let out = 0;
  for (const call of turn.calls) {
    if (size <= room) break;
    size -= sizeOfCall(call);
    out++;
  }
  if (out === 0) return turn;
  if (out === turn.calls.length) return undefined;
  return { ...turn, calls: turn.calls.slice(out), callsLeftOut: turn.callsLeftOut + out };
}

/** Characters. */
const sizeOfTurn = ({ asked, calls, artifacts, output }: TurnMemory): number =>
  [...asked, ...artifacts, output].join("").length + calls.reduce((sum, call) => sum + sizeOfCall(call), 0);
const sizeOfCall = ({ name, input }: RememberedCall): number => name.length + input.length;
