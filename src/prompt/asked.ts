/** asked.ts -- the words that opened a later turn, as its prompts show them: always, because they are what it is for. */
import { isOpenedByWords } from "#core/evolve-turn.ts";
import type { AgentState, Message } from "#core/state.ts";
import { type SizedMessage, userMessage } from "./sized-message.ts";
import { originOf } from "./subtask.ts";
import { fillTemplate, type Words } from "./template.ts";

/** A sub-task shows them among the messages of the larger task (outer.ts). */
export const askedMessages = (state: AgentState): readonly Message[] => (originOf(state) ? [] : state.asked);

/** A message before them that says what became of the goals; none while the turn is for the goals. */
export function renderAskedNote(state: AgentState, words: Words): readonly SizedMessage[] {
  if (originOf(state) || !isOpenedByWords(state)) return [];
  return [userMessage(fillTemplate(words.asked, {}))];
}
