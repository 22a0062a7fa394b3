/**
 * window.ts -- short-term memory: the messages of a frame that the prompt shows. Pure.
 *
 * A window has nine messages, or in the form `plan` the last ten actions with their observations. Older ones are in long-term memory.
 */
import type { Frame, Message } from "./frame.ts";
import { type AgentState, formOfFrame } from "./state.ts";

export const SHORT_TERM_MESSAGES = 9;

/** Upper bound of `windowBatch`, which keeps the state small. */
export const MAX_WINDOW_BATCH = 40;

/** Actions that the form `plan` shows, each with what came of it. */
export const SHOWN_ACTIONS = 10;

/** Most messages of a window in any form: people may write many between two actions. */
const MAX_MESSAGES = SHORT_TERM_MESSAGES + MAX_WINDOW_BATCH;

/** Adds a message. With a batch, the extra messages go all at once, which keeps the prompt's prefix cacheable. */
export function withNewest(frame: Frame, message: Message, state: AgentState): readonly Message[] {
  const window = [...frame.window, message];
  const batch = Math.min(MAX_WINDOW_BATCH, state.settings.windowBatch);
  if (formOfFrame(state, frame) === "plan") {
    const isLong = countActions(window) > SHOWN_ACTIONS + batch || window.length > MAX_MESSAGES;
    return isLong ? lastActions(window) : window;
  }
  return window.length > SHORT_TERM_MESSAGES + batch ? window.slice(-SHORT_TERM_MESSAGES) : window;
}

/** The messages of a frame that are shown. Its form may have changed since the newest one came. */
export function shownWindow(state: AgentState, frame: Frame): readonly Message[] {
  const batch = Math.min(MAX_WINDOW_BATCH, state.settings.windowBatch);
  return formOfFrame(state, frame) === "plan" ? frame.window : frame.window.slice(-SHORT_TERM_MESSAGES - batch);
}

/** The last ten actions, and what came after the first of them. */
function lastActions(window: readonly Message[]): readonly Message[] {
  const places = window.flatMap(({ kind }, place) => (kind === "reply" ? [place] : []));
  const first = places.at(-SHOWN_ACTIONS) ?? 0;
  return window.slice(Math.max(first, window.length - MAX_MESSAGES));
}

const countActions = (window: readonly Message[]): number => window.filter(({ kind }) => kind === "reply").length;
