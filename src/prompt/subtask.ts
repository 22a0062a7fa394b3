/** subtask.ts -- what a sub-task shows in place of the agent's goals and of the request for a command. */
import { isOpenedByWords } from "#core/evolve-turn.ts";
import { SHORT_TERM_MESSAGES } from "#core/frames.ts";
import { type AgentState, activeFrame, type FrameOrigin, type Message, openCommand } from "#core/state.ts";
import { headOf } from "#core/text.ts";
import { rememberBy } from "#util/caches.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText, formatName } from "./delimit.ts";
import { renderMessage, styleOf } from "./messages.ts";
import { type SizedMessage, userMessage } from "./tokens.ts";
import { type FormTemplates, fillTemplate, type Words } from "./words.ts";

/**
 * Messages of the frames below the innermost one, outermost first; none while the agent works on its goals. Those of
 * each frame end with the reply whose code runs.
 */
export const enclosingMessages = (state: AgentState): readonly Message[] =>
  outerFrames(state).flatMap(({ shown }) => shown);

/**
 * Renders what a sub-task sees beside its own messages: those of the frames below it, and a last message about the
 * sub-task with the last sub-tasks of the same code. Nothing of an ended sub-task is among them but its task and its
 * result, so the prompt does not grow with the number of sub-tasks.
 */
export function renderOuter(state: AgentState, words: Words, form: FormTemplates): readonly SizedMessage[] {
  if (!originOf(state)) return [];
  const messages = outerFrames(state).flatMap(({ frame, shown }) => {
    // The reply whose code runs has been asked for.
    const style = styleOf(form, frame);
    return shown.map((message) => renderMessage(message, words, style));
  });
  const text = fillTemplate(words["subtask/subtask-context"], { earlier: renderEarlier(state, words) });
  return [...messages, userMessage(text)];
}

/**
 * A person's words came to all frames: those that came after the sub-task are among its own messages. The words that opened the
 * turn come first.
 */
function outerFrames(state: AgentState) {
  if (!originOf(state)) return [];
  const { frames } = state;
  return frames.slice(0, -1).map((frame, index) => {
    const until = frames[index + 1]?.origin?.seq ?? Number.POSITIVE_INFINITY;
    const newest = frame.window.filter(({ seq }) => seq < until).slice(-SHORT_TERM_MESSAGES);
    return { frame, shown: frame.id === 0 ? [...state.asked, ...newest] : newest };
  });
}

function renderEarlier(state: AgentState, words: Words): string {
  const { runs = [] } = openCommand(state, originOf(state)?.callId ?? "") ?? {};
  if (runs.length === 0) return "";
  const listed = runs.map(({ ordinal, task, result }) => `Task ${ordinal}: ${task}\nResult: ${result}`).join("\n\n");
  return fillTemplate(words["subtask/earlier-subtasks"], { data: delimitText("data", clean(listed).toWellFormed()) });
}

/**
 * The words that opened a later turn. Its prompts always show them, because the turn is for them. A sub-task shows them
 * among the messages of the larger task.
 */
export const turnRequestMessages = (state: AgentState): readonly Message[] => (originOf(state) ? [] : state.asked);

/** A message before them that says what became of the goals; none while the turn is for the goals. */
export function renderAskedNote(state: AgentState, words: Words): readonly SizedMessage[] {
  if (originOf(state) || !isOpenedByWords(state)) return [];
  return [userMessage(fillTemplate(words["messages/asked"]))];
}

/** Undefined while the agent works on its goals. */
export function originOf(state: AgentState): FrameOrigin | undefined {
  const { kind, origin } = activeFrame(state);
  return kind === "run" && origin ? origin : undefined;
}

/** The goals of the agent, or the single goal of its sub-task. The same array at each step, which is a cache key. */
export function goalsOf(state: AgentState, words: Words, { subtask }: FormTemplates): readonly string[] {
  const origin = originOf(state);
  return origin ? goalOf(origin, words, subtask) : state.goals;
}

const goalOf = rememberBy((origin: FrameOrigin, words: Words, subtask: FormTemplates["subtask"]): readonly string[] => [
  fillTemplate(words[subtask], { returns: JSON.stringify(origin.returns) }),
]);

export const fillSubtask = (
  origin: FrameOrigin,
  words: Words,
  { subtaskNext }: FormTemplates,
  values: Readonly<Record<"time" | "recalls", string>>,
) =>
  fillTemplate(words[subtaskNext], {
    ...values,
    command: formatName(origin.command),
    words: delimitText("words", headOf(origin.task)),
  });
