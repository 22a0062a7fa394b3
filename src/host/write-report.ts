/**
 * write-report.ts -- renders `_goald/report.md` in an agent's folder from the store.
 *
 * The report is written after each turn, pause, limit, stop or kill, and at the first start after a crash. Only the events
 * since the saved fold are read, in pages, with a yield between them. An unchanged report is not written again. The file
 * has no history, because goald owns it.
 */
import { setImmediate } from "node:timers/promises";
import type { AgentRow, Lease } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type GatherParts, gatherReport } from "#views/gather-report.ts";
import { renderReport } from "#views/report.ts";

export const REPORT_FILE = "_goald/report.md";

export interface WriteReportParts extends Pick<GatherParts, "hosted"> {
  readonly store: GatherParts["store"] & Pick<Store, "saveProjection">;
  /** The right to save the fold of the log for the next report. */
  readonly lease: Lease;
  /** The agent's folder, writable including `_goald/`. */
  readonly workspace: Workspace;
  /** Redacts secrets in the report. */
  redact?(text: string): string;
}

/** Resolves to true when the file was changed. Rejects with a GoaldError when it cannot be written. */
export async function writeReport(row: AgentRow, parts: WriteReportParts): Promise<boolean> {
  const { store, lease, hosted, workspace, redact = (text: string) => text } = parts;
  const gathering = { store, hosted, folder: workspace.folder, breathe: () => setImmediate() };
  const facts = await gatherReport(row, gathering, { store, lease });
  const report = redact(renderReport(facts));
  const found = await workspace.read(REPORT_FILE).catch(() => undefined);
  if (found && Buffer.from(found).equals(Buffer.from(report))) return false;
  await workspace.write(REPORT_FILE, report);
  return true;
}
