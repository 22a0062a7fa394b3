/**
 * write-report.ts -- `_goald/report.md` in an agent's folder, made new from the store.
 *
 * For whenever an agent has come to a halt: the end of a turn, a pause, a limit, a stop, a kill, and a crash that is
 * found at the next start. The log is read once, in pages, and others get their turn between two of them. What is there
 * already as it should be is not written again. It is goald's own file: no version of it is kept.
 */
import { setImmediate } from "node:timers/promises";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { type GatherParts, gatherReport } from "#views/gather-report.ts";
import { renderReport } from "#views/report.ts";

export const REPORT_FILE = "_goald/report.md";

export interface WriteReportParts extends Pick<GatherParts, "store" | "hosted"> {
  /** The agent's folder, opened so that `_goald/` may be written to. */
  readonly workspace: Workspace;
  /** Takes secrets out of the text. */
  redact?(text: string): string;
}

/** True when the file was changed. Rejects with a GoaldError when it cannot be written. */
export async function writeReport(row: AgentRow, parts: WriteReportParts): Promise<boolean> {
  const { store, hosted, workspace, redact = (text: string) => text } = parts;
  const facts = await gatherReport(row, { store, hosted, folder: workspace.folder, breathe: () => setImmediate() });
  const report = redact(renderReport(facts));
  const found = await workspace.read(REPORT_FILE).catch(() => undefined);
  if (found && Buffer.from(found).equals(Buffer.from(report))) return false;
  await workspace.write(REPORT_FILE, report);
  return true;
}
