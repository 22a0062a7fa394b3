/** count-standings.ts -- counts agents by state, for the status of a host. */
import { count, described, open, type Static } from "#util/schema.ts";
import type { AgentView } from "./agent-view.ts";

export const AgentCounts = open({
  running: described(count, "Agents with a step under way."),
  waiting: described(count, "Agents that wait for a time, an approval, a person or another agent."),
  paused: count,
  finished: count,
  stalled: described(count, "Running agents without an event for longer than a model call may take."),
});
export type AgentCounts = Static<typeof AgentCounts>;

export function countStandings(views: readonly AgentView[]): AgentCounts {
  const countIf = (fits: (view: AgentView) => boolean): number => views.filter(fits).length;
  return {
    running: countIf(({ state }) => state === "running"),
    waiting: countIf(({ state }) => state.startsWith("waiting")),
    paused: countIf(({ state }) => state.startsWith("paused") || state === "stopped" || state === "killed"),
    finished: countIf(({ state }) => state === "completed"),
    stalled: countIf(({ stalledMs }) => stalledMs !== null),
  };
}
