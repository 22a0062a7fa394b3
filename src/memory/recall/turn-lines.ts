/** turn-lines.ts -- the lines of the row that a finished turn leaves. */

import type { TurnMemory } from "#core/event.ts";
import { oneLine } from "#core/text.ts";

const LINE_CHARS = 400;
/** Limits of one call, and of all calls. */
const CALL_CHARS = 1_200;
const TURN_CHARS = 3_000;
const MAX_FILES = 5;

/** The newest calls come first in the budget, and all parts in their order. */
export function turnLines({ turn, asked, calls, artifacts, output }: TurnMemory): readonly string[] {
  const listed: string[] = [];
  let room = TURN_CHARS;
  for (const { name, input } of calls.toReversed()) {
    const line = `Command: ${name} ${oneLine(input, CALL_CHARS)}`;
    room -= line.length;
    if (room < 0) break;
    listed.unshift(line);
  }
  const files = artifacts.slice(-MAX_FILES).join(", ");
  return [
    `Turn ${turn} was for: ${oneLine(asked.join("; "), LINE_CHARS)}`,
    ...listed,
    ...(files === "" ? [] : [`Files: ${oneLine(files, LINE_CHARS)}`]),
    `Its end: ${oneLine(output, LINE_CHARS)}`,
  ];
}
