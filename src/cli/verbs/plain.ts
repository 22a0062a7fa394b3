/**
 * plain.ts -- `goald` without a verb, and `npm start`: lists agents, on a terminal those at work. Without any, it runs the set-up on
 * a terminal, and the demo elsewhere.
 */
import { isGoing, withReading } from "../agents.ts";
import { formatCall, openContext } from "../context.ts";
import { defineVerb, RUN_CODES } from "../verb.ts";
import { ps } from "./ps.ts";

export const verb = defineVerb({
  examples: ["goald"],
  exitCodes: RUN_CODES,
  run: async (_args, options) => {
    using context = await openContext(options);
    const { interactive: onTerminal } = context.output;
    const views = await withReading(context, (reading) => reading.agents());
    if (onTerminal && !views.some(isGoing)) return (await import("./run.ts")).runVerb(undefined, options);
    if (views.length === 0) return (await import("./demo.ts")).demoVerb(options);
    const exitCode = await ps(options);
    const watch = formatCall(context.home, "attach", "ID");
    const another = formatCall(context.home, "run");
    if (onTerminal) context.output.say(`\nWatch one: ${watch}   Set up another: ${another}   All verbs: goald --help`);
    return exitCode;
  },
});
