/** count-standings.ts -- how many agents stand where, as the status of a host says it. */
import type { AgentView, DaemonStatus } from "#api/control.ts";

export function countStandings(views: readonly AgentView[]): DaemonStatus["agents"] {
  const count = (fits: (view: AgentView) => boolean): number => views.filter(fits).length;
  return {
    running: count(({ state }) => state === "running"),
    waiting: count(({ state }) => state.startsWith("waiting")),
    paused: count(({ state }) => state.startsWith("paused") || state === "stopped" || state === "killed"),
    finished: count(({ state }) => state === "completed"),
    stalled: count(({ stalledMs }) => stalledMs !== null),
  };
}
