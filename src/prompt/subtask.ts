/** subtask.ts -- what a sub-task shows in place of the agent's goals and of the request for a command. */
import type { FrameOrigin } from "#core/frame.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { delimitText } from "./delimit.ts";
import { formatName } from "./format-name.ts";
import { fillTemplate, type Words } from "./template.ts";

/** Undefined while the agent works on its goals. */
export function originOf(state: AgentState): FrameOrigin | undefined {
  const { kind, origin } = activeFrame(state);
  return kind === "run" && origin ? origin : undefined;
}

/** The goals of the agent, or the single goal of its sub-task. The same array at each step, which is a cache key. */
export function goalsOf(state: AgentState, words: Words): readonly string[] {
  const origin = originOf(state);
  if (!origin) return state.goals;
  const known = goals.get(origin) ?? [fillTemplate(words.subtask, { returns: JSON.stringify(origin.returns) })];
  goals.set(origin, known);
  return known;
}

const goals = new WeakMap<FrameOrigin, readonly string[]>();

export const fillSubtask = (
  origin: FrameOrigin,
  words: Words,
  values: Readonly<Record<"time" | "recalls" | "answer", string>>,
) =>
  fillTemplate(words["subtask-command"], {
    ...values,
    command: formatName(origin.command),
    words: delimitText("words", headOf(origin.task)),
  });
