/** events.ts -- `goald events`: prints the event log of an agent, one event per line. */
import { createEventLines, type EventLine } from "#cli/terminal/event-line.ts";
import { EXIT } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { clean, escapeUnseenInJson } from "#util/outside-text.ts";
import { AGENT, positiveInteger, value } from "../option.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { allEvents, reading } from "../shared/reading.ts";
import { defineVerb, NO_AGENT } from "../verb.ts";

export const verb = defineVerb({
  description: "print an agent's event log, one event per line",
  examples: ["goald events foo", "goald events foo --after 120 --json"],
  arguments: [AGENT],
  options: { after: value("--after <seq>", "print only events after this number", positiveInteger) },
  exitCodes: NO_AGENT,
  run: ([agent = ""], options) => events(agent, options),
});

async function events(name: string, options: GlobalOptions & { readonly after?: number }): Promise<number> {
  return reading(options, async (reading, { output, redact }) => {
    const toLine = createEventLines();
    for await (const event of allEvents(reading, name)) {
      const line = toLine(event);
      if (event.seq <= (options.after ?? 0)) continue;
      if (output.json) output.data(redact(JSON.stringify(line)));
      // Redact before cutting: half a key is not recognized.
      else output.data(clean(`${event.seq}  ${event.at}  ${event.type}  ${oneLine(redact(detailOf(line)), 160)}`));
    }
    return EXIT.ok;
  });
}

/** Returns the members that are specific to this type of event, as JSON. */
function detailOf({ v: _v, seq: _seq, at: _at, type: _type, frame: _frame, ...rest }: EventLine): string {
  return escapeUnseenInJson(JSON.stringify(rest));
}
