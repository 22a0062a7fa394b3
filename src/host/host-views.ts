/** host-views.ts -- views of agents from their logs and from the runners of this process. */
import { toError } from "#core/errors.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentRow, AgentSpec, InboxMessage, Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { createTurns } from "#util/turns.ts";
import { type AgentView, type ViewFacts, viewAgent, viewDamaged } from "#views/agent-view.ts";
import { findAgent, stateOf } from "#views/read-agent.ts";
import type { Supervisor } from "./supervisor.ts";

export interface HostViewParts {
  readonly store: Store;
  readonly supervisor: Supervisor;
  readonly clock: Clock;
  readonly workspaceFolder: string;
  stallAfterMs(state: AgentState): number;
}

export interface Found {
  readonly row: AgentRow;
  readonly state: AgentState;
}

export type HostViews = ReturnType<typeof createHostViews>;

export function createHostViews(parts: HostViewParts) {
  const { store, supervisor, clock } = parts;
  /** Views of agents without a runner; each is valid until the agent is claimed or its log grows. */
  const views = new Map<string, { readonly at: string; readonly view: AgentView }>();

  /** Throws GOALD_NOT_FOUND. */
  async function find(name: string): Promise<Found> {
    const row = await findAgent(store, name);
    return { row, state: await stateHere(row) };
  }

  async function stateHere(row: AgentRow): Promise<AgentState> {
    const runner = supervisor.runners.get(row.id);
    return runner?.state && runner.head === row.head ? runner.state : stateOf(store, row, row.head);
  }

  function factsOf({ id }: AgentRow): ViewFacts {
    const runner = supervisor.runners.get(id);
    return {
      workspaceFolder: parts.workspaceFolder,
      hosted: runner !== undefined,
      stallAfterMs: (state) => parts.stallAfterMs(state),
      now: clock.now(),
      problem: runner?.problem ?? null,
      waitsAlone: supervisor.isolation.reasonFor(id),
      heldUntil: runner?.heldUntil ?? null,
    };
  }

  async function view(row: AgentRow): Promise<AgentView> {
    const at = `${row.epoch} ${row.head}`;
    const kept = views.get(row.id);
    if (kept?.at === at && !supervisor.runners.has(row.id)) return kept.view;
    const made = viewAgent(row, await stateHere(row), factsOf(row));
    if (supervisor.runners.has(row.id)) views.delete(row.id);
    else views.set(row.id, { at, view: made });
    return made;
  }

  /** Shows an agent with an unreadable log as damaged. The other agents are still listed. */
  async function viewAll(rows: readonly AgentRow[]): Promise<readonly AgentView[]> {
    const all: AgentView[] = [];
    // Yields between logs, so that reading many of them does not hold up the agents.
    const turn = createTurns();
    for (const row of rows) {
      all.push(await view(row).catch((thrown) => viewDamaged(row, toError(thrown).message, factsOf(row))));
      await turn();
    }
    return all;
  }

  /** `forget`: discards the cached view of a removed agent. */
  return { find, view, viewAll, forget: (id: string) => views.delete(id) };
}

export type DescribedAgent = Pick<AgentSpec, "name" | "role" | "goals" | "checks">;

/** `check` trims, and throws GOALD_USAGE. */
export function goalsMessage(
  { name, role }: Pick<AgentState, "name" | "role">,
  { goals, checks = [] }: { readonly goals: readonly string[]; readonly checks?: readonly GoalCheck[] | undefined },
  check: (agent: DescribedAgent) => DescribedAgent,
): InboxMessage {
  const valid = check({ name, role, goals, checks });
  return { type: "goals", goals: valid.goals, ...(valid.checks ? { checks: valid.checks } : {}) };
}
