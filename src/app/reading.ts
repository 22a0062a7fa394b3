/**
 * reading.ts -- implements `Reading` inside a host, and in a process that only reads the store. Reading takes no lock,
 * so a host may write meanwhile. Catalogue and memory search are loaded when a method needs them.
 */
import type { Reading } from "#api/control.ts";
import { findHost } from "#api/find-daemon.ts";
import { createStoreReading } from "#api/store-reading.ts";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { type GoaldError, toError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { RecallQuery } from "#core/ports/memory.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { activeFrame } from "#core/state.ts";
import { isHostHeld } from "#store/sqlite/host-lock.ts";
import { openSqliteReader } from "#store/sqlite/open-store.ts";
import { once } from "#util/caches.ts";
import { systemClock } from "#util/clock.ts";
import { type AgentView, isOver, stallLimit, type ViewFacts, viewAgent, viewDamaged } from "#views/agent-view.ts";
import { stateOf } from "#views/read-agent.ts";
import type { StepParts } from "#views/whole-step.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Host } from "./host.ts";

export interface HomeReading extends Reading, AsyncDisposable {}

export interface HomeReadingOptions {
  /** Called with a sentence when memory search is degraded, or the daemon does not answer. */
  report(problem: string): void;
  /** When aborted, memory search returns what it has found. */
  readonly signal?: AbortSignal;
}

/** Opens a home for reading. A home without a store has no agents. */
export async function openReading(home: Home, settings: Settings, options: HomeReadingOptions): Promise<HomeReading> {
  const reader = await openSqliteReader(home.database);
  const loadOnce = once(async () => {
    const { findServiceStates, loadCatalogue } = await import("./catalogue.ts");
    return loadCatalogue(home, await findServiceStates(settings), settings.agents.maxDepth, { finding: null });
  });
  const reading = createStoreReading({
    reader,
    clock: systemClock,
    workspaceFolder: home.workspaceFolder,
    viewAgents: (rows) => viewFromOutside(rows, reader, { home, settings, report: options.report }),
    openWorkspace: (folder) => openLocalWorkspace(folder),
    ...stepParts(loadOnce, () => settings),
    // Does not save new vectors, because the host owns the store.
    recall: async (namespace, query, count) => {
      const { openRecall } = await import("./services.ts");
      const memory = openRecall(home, settings, reader, options.report);
      const asked = recallQuery(namespace, query, count ?? settings.recall.count);
      try {
        return await memory.recall(asked, options.signal ?? new AbortController().signal);
      } finally {
        await memory.close();
      }
    },
  });
  return { ...reading, [Symbol.asyncDispose]: () => reader.close() };
}

export function createHostReading(host: Host): Reading {
  const { home, store } = host;
  return createStoreReading({
    reader: store,
    clock: systemClock,
    workspaceFolder: home.workspaceFolder,
    viewAgents: host.control.viewAll,
    openWorkspace: (folder) => openLocalWorkspace(folder),
    ...stepParts(
      async () => host.catalogue,
      () => host.settings,
    ),
    recall: async (namespace, query, count) => {
      const { memory } = host.shared();
      const asked = recallQuery(namespace, query, count ?? host.settings.recall.count);
      const recalls = await memory.recall(asked, new AbortController().signal);
      if (!host.supervisor.runners.has(namespace)) await memory.idle(namespace);
      return recalls;
    },
  });
}

function stepParts(loadCatalogue: () => Promise<Catalogue>, settings: () => Settings): StepParts {
  return {
    promptParts: async (model) => {
      const { commandsFor, words, windows } = await loadCatalogue();
      const { roomOf } = await import("./catalogue.ts");
      return { commandsFor, words, ...roomOf(model, settings(), windows) };
    },
    readThoughts: async (...reply) => (await loadCatalogue()).readThoughts(...reply),
  };
}

const recallQuery = (namespace: string, query: string, count: number): RecallQuery => ({
  agent: namespace,
  others: [SHARED_MEMORY],
  texts: [query],
  count,
  excludeSteps: new Set<number>(),
});

/** Shows an agent with an unreadable log as damaged. The other agents are still listed. */
async function viewFromOutside(
  rows: readonly AgentRow[],
  reader: Pick<StoreReader, "load">,
  { home, settings, report }: { readonly home: Home; readonly settings: Settings } & Pick<HomeReadingOptions, "report">,
): Promise<readonly AgentView[]> {
  const hosted = isHostHeld(home.lock);
  const facts: ViewFacts = {
    workspaceFolder: home.workspaceFolder,
    hosted,
    stallAfterMs: stallLimit(settings.models.timeoutSeconds * 1_000),
    now: systemClock.now(),
  };
  const views: AgentView[] = [];
  for (const row of rows) {
    const view = stateOf(reader, row, row.head).then((state) => viewAgent(row, state, facts));
    views.push(await view.catch((thrown) => viewDamaged(row, toError(thrown).message, facts)));
  }
  if (hosted) return views.some(mayRun) ? withHostFacts(views, home, report) : views;
  return views.map((view) => (WAITS_OF_HOST.includes(view.standing.cause) ? { ...view, ...INTERRUPTED } : view));
}

/** Only a host ends these waits, so that without one the agent would wait forever. */
const WAITS_OF_HOST = ["model", "rate limit", "time"];
const standing = { kind: "interrupted", cause: "" } as const;
const INTERRUPTED = { state: standing.kind, standing, reason: null, until: null };

const mayRun = ({ state }: AgentView): boolean => !isOver(state) && state !== "damaged" && !state.startsWith("paused");

/** Adds which agents run or are stalled, which only the host can report. Waits at most 2 s for the host. */
async function withHostFacts(
  views: readonly AgentView[],
  home: Home,
  report: HomeReadingOptions["report"],
): Promise<readonly AgentView[]> {
  try {
    const onSilence = ({ message, hint }: GoaldError): void => report(`${message} ${hint}`);
    const client = await findHost(home, { tell: () => {}, patienceMs: 2_000, onSilence });
    const [only] = views.length === 1 ? views : [];
    const seenViews = only ? [await client?.agent(only.id)] : await client?.agents();
    const live = new Map(seenViews?.map((view) => [view?.id, view]));
    return views.map((view) => {
      const seen = live.get(view.id);
      return seen && mayRun(view) && seen.changedAt >= view.changedAt ? seen : view;
    });
  } catch {
    return views;
  }
}

/** Returns ids of agents that a daemon continues by itself, the last changed first, at most `limit`. */
export const unfinishedAgents = (home: Pick<Home, "database">, limit: number): Promise<readonly string[]> =>
  withReader(home, async (reader) => {
    const rows = [...(await reader.agents())].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    const found: string[] = [];
    for (const row of rows) {
      if (found.length >= limit) break;
      // Hosts do not continue agents whose log cannot be read.
      const state = await stateOf(reader, row).catch(() => undefined);
      if (state?.settings.background && state.paused === null && activeFrame(state).phase.kind !== "resting")
        found.push(row.id);
    }
    return found;
  });

/** Lists the oldest agent first. */
export const listAgentNames = (home: Pick<Home, "database">): Promise<readonly Pick<AgentRow, "id" | "name">[]> =>
  withReader(home, async (reader) => (await reader.agents()).map(({ id, name }) => ({ id, name })));

/** `lastEventAt`: empty for a store without events. Throws when the store cannot be read. */
export const measureStore = (home: Pick<Home, "database">) =>
  withReader(home, async (reader) => {
    const agents = await reader.agents();
    const events = agents.reduce((sum, { head }) => sum + head, 0);
    const lastEventAt = agents.reduce((latest, { updatedAt }) => (updatedAt > latest ? updatedAt : latest), "");
    return { agents: agents.length, events, lastEventAt };
  });

async function withReader<T>(
  { database }: Pick<Home, "database">,
  read: (reader: StoreReader) => Promise<T>,
): Promise<T> {
  const reader = await openSqliteReader(database);
  try {
    return await read(reader);
  } finally {
    await reader.close();
  }
}
