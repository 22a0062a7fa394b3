/** report.ts -- `goald report`: what an agent did, made new from the store; the same text lies in its folder as `_goald/report.md`. */
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { gatherReport } from "#views/gather-report.ts";
import { findAgent } from "#views/load-agent.ts";
import { NEXT_HEADING, renderReport } from "#views/report.ts";
import { NO_AGENT } from "../exit-codes.ts";
import { AGENT } from "../option.ts";
import { callsHere, type GlobalOptions } from "../shared/context.ts";
import { folderOf, reading } from "../shared/reading.ts";
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
  return reading(options, async (reader, context) => {
    const row = await findAgent(reader, name);
    const hosted = isHostHeld(context.home.lock);
    const facts = await gatherReport(row, { store: reader, folder: folderOf(context, row), hosted });
    if (context.output.json) context.output.data(context.redact(JSON.stringify(facts)));
    else context.output.data(context.redact(withCallsHere(renderReport(facts).trimEnd(), context.home)));
    return EXIT.ok;
  });
}

/** In the last part only: what stands above may be the words of a model. */
function withCallsHere(text: string, home: Home): string {
  const at = text.lastIndexOf(NEXT_HEADING);
  return text.slice(0, at) + callsHere(home, text.slice(at));
}
