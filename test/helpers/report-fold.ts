/** report-fold.ts -- folds a whole log with its file versions at once. */
import type { RecordedEvent } from "#core/event.ts";
import type { FileVersion } from "#core/ports/file-version.ts";
import { addFileVersions, EMPTY_REPORT, evolveReport, type ReportFold } from "#views/report-fold.ts";

export function foldReport(
  events: readonly RecordedEvent[],
  versions: readonly FileVersion[],
  from: ReportFold = EMPTY_REPORT,
): ReportFold {
  const commands = new Map(from.calls.map(({ callId, name }) => [callId, name]));
  for (const event of events) if (event.type === "command-requested") commands.set(event.callId, event.call.name);
  return addFileVersions(events.reduce(evolveReport, from), versions, commands);
}
