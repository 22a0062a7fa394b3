/**
 * outer.ts -- what a sub-task sees beside its own messages: those of the frames below it, and the last sub-tasks of the same code.
 *
 * The messages of a frame below end with the reply whose code runs. Nothing of an ended sub-task is among them but its task
 * and its result, so the prompt does not grow with the number of sub-tasks.
 */
import { SHORT_TERM_MESSAGES } from "#core/frames.ts";
import { type AgentState, type Frame, type Message, openCommand } from "#core/state.ts";
import { clean } from "#util/outside-text.ts";
import { delimitText } from "./delimit.ts";
import type { FormWords } from "./form-words.ts";
import { renderMessage } from "./messages.ts";
import { numberMessages } from "./number-messages.ts";
import { type SizedMessage, userMessage } from "./sized-message.ts";
import { originOf } from "./subtask.ts";
import { fillTemplate, type Words } from "./template.ts";

/** Messages of the frames below the innermost one, outermost first; none while the agent works on its goals. */
export const outerMessages = (state: AgentState): readonly Message[] =>
  outerFrames(state).flatMap(({ shown }) => shown);

/** The same as the model reads them, with a last message about the sub-task. */
export function renderOuter(state: AgentState, words: Words, form: FormWords): readonly SizedMessage[] {
  if (!originOf(state)) return [];
  const messages = outerFrames(state).flatMap(({ frame, shown }) => {
    // The reply whose code runs has been asked for.
    const { of } = numberMessages(frame);
    return shown.map((message) => renderMessage(message, words, { form, numberOf: of }));
  });
  const text = fillTemplate(words["subtask-context"], { earlier: renderEarlier(state, words) });
  return [...messages, userMessage(text)];
}

interface OuterFrame {
  readonly frame: Frame;
  readonly shown: readonly Message[];
}

/**
 * A person's words came to all frames: those that came after the sub-task are among its own messages. The words that opened the
 * turn come first.
 */
function outerFrames(state: AgentState): readonly OuterFrame[] {
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
  return fillTemplate(words["earlier-subtasks"], { data: delimitText("data", clean(listed).toWellFormed()) });
}
