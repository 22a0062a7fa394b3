/** report-of.ts -- the facts of a report about a log that a test made. */
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, FileVersion } from "#core/ports/store.ts";
import { viewAgent } from "#views/agent-view.ts";
import { type ReportFacts, reportFacts } from "#views/report-facts.ts";
import { AT } from "./events.ts";

/** All events, as of a short log. */
export function factsOf(events: readonly RecordedEvent[], versions: readonly FileVersion[] = []): ReportFacts {
  const state = replay(events);
  const row = { id: "foo", name: "Foo", folder: "foo", parent: null, createdAt: AT, updatedAt: AT } as AgentRow;
  const facts = { workspaceFolder: "/w", hosted: false, lastCommand: null, stallAfterMs: () => 0, now: new Date(AT) };
  return reportFacts(viewAgent(row, state, facts), state, { since: 0, events, versions });
}
