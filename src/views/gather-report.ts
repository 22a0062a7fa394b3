/**
 * gather-report.ts -- gathers the facts of a report from a store.
 *
 * Reads the saved fold and the events since, so the cost does not depend on the age of the agent. Without a saved fold
 * it reads the whole log once.
 */
import { SAVES_FILES } from "#core/cells.ts";
import type { EventOf } from "#core/event.ts";
import type { AgentRow, Lease } from "#core/ports/agent.ts";
import type { Store, StoreReader } from "#core/ports/store.ts";
import { foldLog } from "./load-agent.ts";
import { type ReportFacts, reportFacts } from "./report-facts.ts";
import { addFileVersions, EMPTY_REPORT, evolveReport, REPORT_VERSION, type ReportFold } from "./report-fold.ts";

/** Small enough to let other work run between two pages. */
const PAGE = 200;
const PROJECTION = "report";
/** Saving costs a transaction; reading so many events again costs about as much. */
const SAVE_EVERY_EVENTS = 100;

export interface GatherParts {
  readonly store: Pick<StoreReader, "load" | "read" | "files" | "projection">;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  /** A host runs the agent, or will wake it. */
  readonly hosted: boolean;
  /** Called between two pages, to let other work run. */
  readonly breathe?: () => Promise<unknown>;
}

/** `save`: saves the fold for the next report, when enough events came since the last time. */
export async function gatherReport(
  row: AgentRow,
  { store, folder, hosted, breathe }: GatherParts,
  save?: { readonly store: Pick<Store, "saveProjection">; readonly lease: Lease },
): Promise<ReportFacts> {
  const { head, state } = await foldLog(store, row);
  const saved = await store.projection(row.id, PROJECTION, REPORT_VERSION);
  const from = saved && saved.seq <= head ? (saved.data as ReportFold) : EMPTY_REPORT;
  const fold = await continueFold(from, head, row.id, store, breathe);
  if (save && head - from.seq >= SAVE_EVERY_EVENTS)
    await save.store.saveProjection(save.lease, PROJECTION, REPORT_VERSION, { seq: head, data: fold });
  return reportFacts({ row, workspace: folder, hosted, state, fold });
}

async function continueFold(
  from: ReportFold,
  head: number,
  agent: string,
  store: GatherParts["store"],
  breathe: GatherParts["breathe"],
): Promise<ReportFold> {
  const versions = await store.files(agent, from.seq);
  const wanted = new Set(versions.map(({ callId }) => callId));
  const commands = new Map(from.calls.map(({ callId, name }) => [callId, name]));
  let fold = from;
  while (fold.seq < head) {
    const page = await store.read(agent, fold.seq, Math.min(PAGE, head - fold.seq));
    if (page.length === 0) break;
    for (const event of page) {
      if (event.type === "command-requested" && wanted.has(event.callId))
        commands.set(event.callId, writerOf(event, fold));
      fold = evolveReport(fold, event);
    }
    if (fold.seq < head) await breathe?.();
  }
  return addFileVersions(fold, versions, commands);
}

/** `fold`: before the event, so that the cell that saves files is open. */
function writerOf({ callId, call }: EventOf<"command-requested">, { calls }: ReportFold): string {
  const cell = callId.slice(0, callId.lastIndexOf("."));
  return call.name === SAVES_FILES ? (calls.find((open) => open.callId === cell)?.name ?? call.name) : call.name;
}
