/** gather-report.ts -- the facts of a report, from a store: its log read once, in pages. */
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { createReportFacts, type ReportFacts } from "./report-facts.ts";

/** Small enough that nobody waits long for the next breath. */
const PAGE = 200;

export interface GatherParts {
  readonly store: Pick<StoreReader, "read" | "files">;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  /** A host runs it, or will wake it by itself. */
  readonly hosted: boolean;
  /** Called between two pages: where others get their turn. */
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
