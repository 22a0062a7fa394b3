/**
 * read.ts -- verbs that only look at one agent: events, files, verify. They need no host lock and change nothing.
 */
import { EXIT } from "#core/errors.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { oneLine } from "#core/text.ts";
import { createEventLines, type EventLine } from "#terminal/event-line.ts";
import { renderTable } from "#terminal/table.ts";
import { clean } from "#util/clean.ts";
import { escapeUnseenInJson } from "#util/unseen.ts";
import { findAgent } from "#views/load-agent.ts";
import { isByPerson } from "#views/restore-version.ts";
import { counted, type GlobalOptions } from "./house.ts";
import { allEvents, folderOf, reading } from "./reading.ts";

export async function events(name: string, options: GlobalOptions & { readonly after?: number }): Promise<number> {
  return reading(options, async (reader, { talk, redact }) => {
    const row = await findAgent(reader, name);
    const toLine = createEventLines();
    for await (const event of allEvents(reader, row.id)) {
      const line = toLine(event);
      if (event.seq <= (options.after ?? 0)) continue;
      if (talk.json) talk.data(redact(JSON.stringify(line)));
      // Before it is cut: half a key is known by nobody.
      else talk.data(clean(`${event.seq}  ${event.at}  ${event.type}  ${oneLine(redact(detailOf(line)), 160)}`));
    }
    return EXIT.ok;
  });
}

export async function files(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, house) => {
    const row = await findAgent(reader, name);
    const versions = await reader.files(row.id);
    const folder = folderOf(house, row);
    if (house.talk.json) house.talk.data(JSON.stringify({ workspace: folder, files: latestFiles(versions), versions }));
    else {
      const lines = latestFiles(versions).map(({ path, operation, by, step, bytes, changes, at }) => [
        clean(path),
        by === "person" ? `${operation} by a person` : operation,
        `${step}`,
        `${bytes}`,
        `${changes}`,
        at,
      ]);
      house.talk.say(`Workspace: ${folder}`);
      if (lines.length === 0) house.talk.say("No file was written yet.");
      else house.talk.data(renderTable(["FILE", "LAST", "STEP", "BYTES", "CHANGES", "AT"], lines));
    }
    return EXIT.ok;
  });
}

export async function verify(name: string | undefined, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, { talk }) => {
    const agent = name === undefined ? undefined : (await findAgent(reader, name)).id;
    const report = await reader.verify(agent);
    if (talk.json) talk.data(JSON.stringify(report));
    else {
      for (const problem of report.problems) talk.data(clean(problem));
      const verdict = report.problems.length === 0 ? "sound" : counted(report.problems.length, "problem");
      talk.say(`${counted(report.agents, "agent")}, ${counted(report.events, "event")}: ${verdict}.`);
    }
    return report.problems.length === 0 ? EXIT.ok : EXIT.error;
  });
}

type LatestFile = Pick<FileVersion, "path" | "operation" | "step" | "bytes" | "at"> & {
  /** Who changed it last. */
  readonly by: "agent" | "person";
  /** How often it was changed. */
  readonly changes: number;
};

/** The last change of each file, in the order of their paths; goald's own spilled outputs and deleted files left out. */
export function latestFiles(versions: readonly FileVersion[]): readonly LatestFile[] {
  const latest = new Map<string, LatestFile>();
  for (const version of versions) {
    const { path, operation, step, bytes, at } = version;
    const changes = (latest.get(path)?.changes ?? 0) + 1;
    latest.set(path, { path, operation, step, bytes, at, by: isByPerson(version) ? "person" : "agent", changes });
  }
  return [...latest.values()]
    .filter(({ path, operation }) => operation !== "delete" && !path.startsWith("_goald/"))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is particular to an event, for a person's eye. */
function detailOf({ v: _v, seq: _seq, at: _at, type: _type, frame: _frame, ...rest }: EventLine): string {
  return escapeUnseenInJson(JSON.stringify(rest));
}
