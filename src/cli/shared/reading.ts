/** reading.ts -- what the verbs that only look have in common: the store opened for reading, agents as they stand, their logs in pages. */
import { join } from "node:path";
import { findHost } from "#api/auto-start.ts";
import type { AgentView } from "#api/control.ts";
import { toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import { isHostHeld } from "#store/host-lock.ts";
import { openSqliteReader } from "#store/sqlite-store.ts";
import { systemClock } from "#util/clock.ts";
import { isOver, stallLimitMs, type ViewFacts, viewAgent, viewDamaged } from "#views/agent-view.ts";
import { stateOf } from "#views/load-agent.ts";
import { type CliContext, type GlobalOptions, openContext } from "./context.ts";

const PAGE = 500;

/** Needs no host and no lock; a home without a store has no agents. */
export async function reading(
  options: GlobalOptions,
  look: (reader: StoreReader, context: CliContext) => Promise<number>,
): Promise<number> {
  const context = await openContext(options);
  try {
    return await readStore(context, (reader) => look(reader, context));
  } finally {
    context.output.close();
  }
}

export async function readStore<T>(
  { home }: Pick<CliContext, "home">,
  look: (reader: StoreReader) => Promise<T>,
): Promise<T> {
  const reader = await openSqliteReader(home.database);
  try {
    return await look(reader);
  } finally {
    await reader.close();
  }
}

export async function* allEvents(reader: Pick<StoreReader, "read">, agent: string): AsyncIterable<RecordedEvent> {
  for (let after = 0; ; ) {
    const page = await reader.read(agent, after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after += page.length;
  }
}

/** Absolute path. */
export const folderOf = ({ home }: CliContext, row: AgentRow): string => join(home.workspaceFolder, row.folder);

/** As they stand. One whose log cannot be read is listed as damaged, and hides no other. */
export async function viewAgents(
  reader: Pick<StoreReader, "load">,
  context: CliContext,
  rows: readonly AgentRow[],
): Promise<readonly AgentView[]> {
  const hosted = isHostHeld(context.home.lock);
  const facts: ViewFacts = {
    workspaceFolder: context.home.workspaceFolder,
    hosted,
    lastCommand: null,
    stallAfterMs: stallLimitMs(context.settings.modelTimeoutMs),
    now: systemClock.now(),
  };
  const views: AgentView[] = [];
  for (const row of rows) {
    try {
      views.push(viewAgent(row, await stateOf(reader, row), facts));
    } catch (thrown) {
      views.push(viewDamaged(row, toError(thrown).message, facts));
    }
  }
  return hosted && views.some(mayBeRun) ? withLive(views, context) : views;
}

const mayBeRun = ({ state }: AgentView): boolean =>
  !isOver(state) && state !== "damaged" && !state.startsWith("paused");

/** Which of them the host really runs, and which stall, only the host knows; one that does not answer is not waited for. */
async function withLive(views: readonly AgentView[], { home }: CliContext): Promise<readonly AgentView[]> {
  try {
    const client = await findHost(home, { tell: () => {}, patienceMs: 2_000 });
    const live = new Map((await client?.agents())?.map((view) => [view.id, view]));
    return views.map((view) => {
      const seen = live.get(view.id);
      return seen && mayBeRun(view) && seen.changedAt >= view.changedAt ? seen : view;
    });
  } catch {
    return views;
  }
}
