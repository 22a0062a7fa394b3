/** gather-report.ts -- reads the facts of a report from a store, in one pass over the log. */
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { createReportFacts, type ReportFacts } from "./report-facts.ts";

/** Small enough to let other work run between two pages. */
const PAGE = 200;

export interface GatherParts {
  readonly store: Pick<StoreReader, "read" | "files">;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  /** A host runs the agent, or will wake it. */
  readonly hosted: boolean;
  /** Called between two pages, to let other work run. */
  readonly breathe?: () => Promise<unknown>;
}

export async function gatherReport(
  row: AgentRow,
  { store, folder, hosted, breathe }: GatherParts,
): Promise<ReportFacts> {
  const gathering = createReportFacts({ row, workspace: folder, versions: await store.files(row.id), hosted });
  for (let after = 0; ; ) {
    const page = await store.read(row.id, after, PAGE);
    for (const event of page) gathering.add(event);
    if (page.length < PAGE) return gathering.facts();
    after += page.length;
    await breathe?.();
  }
}
