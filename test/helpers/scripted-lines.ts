/**
 * scripted-lines.ts -- a person whose lines are known beforehand, and who leaves when they are used up.
 */
import type { LineInput } from "#cli/terminal/ask.ts";

export interface ScriptedLines extends LineInput {
  /** What was asked, oldest first; questions for secrets begin with "(secret) ". */
  readonly asked: readonly string[];
}

export function scriptedLines(lines: readonly string[]): ScriptedLines {
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
    dropTypedAhead: () => {},
    close: () => {},
  };
}
