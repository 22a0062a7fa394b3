/** read.ts -- `goald events`, `goald files` and `goald verify`. They need no lock and change nothing. */
import { createEventLines, type EventLine } from "#cli/terminal/event-line.ts";
import { renderTable } from "#cli/terminal/table.ts";
import { EXIT } from "#core/errors.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import { inertJson } from "#util/inert-json.ts";
import { counted, type GlobalOptions } from "../shared/context.ts";
import { allEvents, reading } from "../shared/reading.ts";

export async function events(name: string, options: GlobalOptions & { readonly after?: number }): Promise<number> {
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

export async function files(name: string, options: GlobalOptions): Promise<number> {
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

export async function verify(name: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output }) => {
    const report = await reading.verify(name ?? null);
    if (output.json) output.data(JSON.stringify(report));
    else {
      for (const problem of report.problems) output.data(clean(problem));
      const verdict = report.problems.length === 0 ? "sound" : counted(report.problems.length, "problem");
      output.say(`${counted(report.agents, "agent")}, ${counted(report.events, "event")}: ${verdict}.`);
    }
    return report.problems.length === 0 ? EXIT.ok : EXIT.error;
  });
}

/** The members that other events do not have. */
function detailOf({ v: _v, seq: _seq, at: _at, type: _type, frame: _frame, ...rest }: EventLine): string {
  return inertJson(JSON.stringify(rest));
}
