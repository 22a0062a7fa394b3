/**
 * scripted-lines.ts -- the input of a person who types given lines and then leaves.
 */

import type { LineInput } from "#cli/terminal/line-input.ts";

export interface ScriptedLines extends LineInput {
  /** All questions, oldest first; questions for secrets begin with "(secret) ". */
  readonly asked: readonly string[];
}

/** `typedAhead` are the lines that `takeTypedAhead` returns. */
export function scriptedLines(lines: readonly string[], typedAhead: readonly string[] = []): ScriptedLines {
  const left = [...lines];
  const asked: string[] = [];
  const answer = (question: string): Promise<string | undefined> => {
    asked.push(question);
    return Promise.resolve(left.shift());
  };
  return {
    asked,
    interrupted: false,
    askLine: answer,
    askSecret: (question) => answer(`(secret) ${question}`),
    wasBegunEarly: false,
    typed: "",
    watchTyping: () => {},
    takeTypedAhead: () => Promise.resolve(typedAhead),
    close: () => {},
  };
}
