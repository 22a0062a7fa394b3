/**
 * report.ts -- `goald report`: renders an agent's work from the store. The same text is in its folder as
 * `_goald/report.md`.
 */
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import { NEXT_HEADING, renderReport } from "#views/report.ts";
import { NO_AGENT } from "../exit-codes.ts";
import { AGENT } from "../option.ts";
import { callsHere, type GlobalOptions } from "../shared/context.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "report",
  group: "Look at agents",
  summary: "report what an agent did",
  description: "report what an agent did, as Markdown: goals, files, sources, failures, cost, next steps",
  examples: ["goald report foo", "goald report foo > foo.md", "goald report foo --json"],
  arguments: [AGENT],
  exitCodes: NO_AGENT,
  run: ([agent = ""], options) => report(agent, options),
});

export async function report(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output, redact, home }) => {
    const facts = await reading.report(name);
    output.data(redact(output.json ? JSON.stringify(facts) : withCallsHere(renderReport(facts).trimEnd(), home)));
    return EXIT.ok;
  });
}

/** Completes calls only in the last part, because earlier parts may contain a model's text. */
function withCallsHere(text: string, home: Home): string {
  const at = text.lastIndexOf(NEXT_HEADING);
  return text.slice(0, at) + callsHere(home, text.slice(at));
}
