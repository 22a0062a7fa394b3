/**
 * start.ts -- goald without a verb, and `npm start`.
 *
 * `npm start` runs the set-up on a terminal, and the demo without one. Plain `goald` does the same unless it must list
 * agents: on a terminal those at work, elsewhere any agents of the home.
 */

import { RUN_CODES } from "../exit-codes.ts";
import { formatCall, openContext } from "../shared/context.ts";
import { withReading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";
import { demoVerb } from "./demo.ts";
import { isGoing, ps } from "./ps.ts";
import type { RunOptions } from "./run.ts";

export const verb = defineVerb({
  name: "start",
  summary: "set up an agent on a terminal; run the demo without one",
  examples: ["goald start"],
  exitCodes: RUN_CODES,
  run: (_args, options) => start(options),
});

export async function start(options: RunOptions): Promise<number> {
  return isOnTerminal(options) ? (await import("./run.ts")).runVerb(undefined, options) : demoVerb(options);
}

export async function plain(options: RunOptions): Promise<number> {
  const onTerminal = isOnTerminal(options);
  const context = await openContext(options);
  try {
    const views = await withReading(context, (reading) => reading.agents());
    if (onTerminal ? !views.some(isGoing) : views.length === 0) return await start(options);
    const exitCode = await ps(options);
    const [watch, another] = [formatCall(context.home, "attach", "ID"), formatCall(context.home, "run")];
    if (onTerminal) context.output.say(`\nWatch one: ${watch}   Set up another: ${another}   All verbs: goald --help`);
    return exitCode;
  } finally {
    context.output.close();
  }
}

const isOnTerminal = ({ input, json }: RunOptions): boolean =>
  process.stdin.isTTY === true && process.stdout.isTTY === true && input !== false && json !== true;
