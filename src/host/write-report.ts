/**
 * write-report.ts -- renders `_goald/report.md` in an agent's folder from the store.
 *
 * The report is written after each turn, pause, limit, stop or kill, and at the first start after a crash. An unchanged
 * report is not written again. The file has no history, because goald owns it.
 */
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { viewAgent } from "#views/agent-view.ts";
import { renderReport } from "#views/report.ts";
import { gatherReport } from "#views/report-facts.ts";

export const REPORT_FILE = "_goald/report.md";

export interface WriteReportParts {
  readonly store: Pick<StoreReader, "load" | "read" | "files">;
  /** Absolute path of the home's `workspace/`. */
  readonly workspaceFolder: string;
  /** The agent's folder, writable including `_goald/`. */
  readonly workspace: Workspace;
  /** Redacts secrets in the report. */
  redact?(text: string): string;
}

/** Resolves to true when the file was changed. Rejects with a GoaldError when it cannot be written. */
export async function writeReport(row: AgentRow, parts: WriteReportParts): Promise<boolean> {
  const { store, workspaceFolder, workspace, redact = (text: string) => text } = parts;
  const facts = {
    workspaceFolder,
    hosted: false,
    lastCommand: null,
    stallAfterMs: () => 0,
    now: new Date(row.updatedAt),
  };
  const report = redact(renderReport(await gatherReport(row, store, (state) => viewAgent(row, state, facts))));
  const found = await workspace.read(REPORT_FILE).catch(() => undefined);
  if (found && Buffer.from(found).equals(Buffer.from(report))) return false;
  await workspace.write(REPORT_FILE, report);
  return true;
}
