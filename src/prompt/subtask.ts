/** subtask.ts -- what a sub-task shows in place of the agent's goals and of the request for a command. */

import { type AgentState, activeFrame, type FrameOrigin } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { delimitText } from "./delimit.ts";
import type { FormWords } from "./form-words.ts";
import { formatName } from "./format-name.ts";
import { fillTemplate, type Words } from "./template.ts";

/** Undefined while the agent works on its goals. */
export function originOf(state: AgentState): FrameOrigin | undefined {
  const { kind, origin } = activeFrame(state);
  return kind === "run" && origin ? origin : undefined;
}

/** The goals of the agent, or the single goal of its sub-task. The same array at each step, which is a cache key. */
export function goalsOf(state: AgentState, words: Words, { subtask }: FormWords): readonly string[] {
  const origin = originOf(state);
  return origin ? goalOf(origin, words, subtask) : state.goals;
}

const goalOf = rememberBy((origin: FrameOrigin, words: Words, subtask: FormWords["subtask"]): readonly string[] => [
  fillTemplate(words[subtask], { returns: JSON.stringify(origin.returns) }),
]);

export const fillSubtask = (
  origin: FrameOrigin,
  words: Words,
  { subtaskNext }: FormWords,
  values: Readonly<Record<"time" | "recalls", string>>,
) =>
  fillTemplate(words[subtaskNext], {
    ...values,
    command: formatName(origin.command),
    words: delimitText("words", headOf(origin.task)),
  });
