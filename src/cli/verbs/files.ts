/** files.ts -- `goald files`: lists the files that an agent wrote, as they are now. */

import { renderTable } from "#cli/terminal/table.ts";
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import { NO_AGENT } from "../exit-codes.ts";
import { AGENT } from "../option.ts";
import type { GlobalOptions } from "../shared/context.ts";
import { reading } from "../shared/reading.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "files",
  group: "Files of agents",
  summary: "list the files that an agent wrote",
  description: "list the files that an agent wrote, and in which step",
  examples: ["goald files foo", "goald files foo --json"],
  arguments: [AGENT],
  exitCodes: NO_AGENT,
  run: ([agent = ""], options) => files(agent, options),
});

async function files(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output }) => {
    const list = await reading.files(name);
    if (output.json) output.data(JSON.stringify(list));
    else {
      const lines = list.files.map(({ path, operation, by, step, bytes, changes, at }) => [
        clean(path),
        by === "person" ? `${operation} by a person` : operation,
        `${step}`,
        `${bytes}`,
        `${changes}`,
        at,
      ]);
      output.say(`Workspace: ${list.workspace}`);
      if (lines.length === 0) output.say("No file was written yet.");
      else output.data(renderTable(["FILE", "LAST", "STEP", "BYTES", "CHANGES", "AT"], lines));
    }
    return EXIT.ok;
  });
}
