/** revive.ts -- the daemon of a home, started again when it died and agents of its own are not done. */
import { hasDaemonDied } from "#api/daemon-expected.ts";
import type { Home } from "#config/home.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import { type AgentState, activeFrame } from "#core/state.ts";
import { openSqliteReader } from "#store/sqlite-store.ts";
import { stateOf } from "#views/load-agent.ts";
import { readVersion } from "../../shipped.ts";

/** Never rejects: who only wants to look can do so without a daemon. */
export async function reviveDaemon(home: Home): Promise<void> {
  if (!hasDaemonDied(home)) return;
  const { revive } = await import("#api/auto-start.ts");
  await revive(home, async () => (await unfinishedAgents(home, 1)).length > 0, { version: readVersion() });
}

/** Agents that a daemon goes on with by itself, at most `limit`, the one that changed last first. */
export async function unfinishedAgents({ database }: Home, limit: number): Promise<readonly AgentRow[]> {
  const reader = await openSqliteReader(database);
  try {
    const rows = [...(await reader.agents())].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    const found: AgentRow[] = [];
    for (const row of rows) {
      if (found.length >= limit) break;
      // Nobody goes on with a log that cannot be read, and it hides no other.
      const state = await stateOf(reader, row).catch(() => undefined);
      if (state && isUnfinished(state)) found.push(row);
    }
    return found;
  } finally {
    await reader.close();
  }
}

const isUnfinished = (state: AgentState): boolean =>
  state.settings.background && state.paused === null && activeFrame(state).phase.kind !== "resting";
