/** subagent-effects.ts -- applies a person's action on an agent to its sub-agents and its parent. */
import { GoaldError } from "#core/errors.ts";
import { spentOf } from "#core/limits.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { AgentRow, Store } from "#core/ports/store.ts";
import { type AgentState, isOver } from "#core/state.ts";
import { descendantsOf, stateOf } from "#views/read-agent.ts";
import type { Supervisor } from "./supervisor.ts";

interface HostParts {
  readonly store: Pick<Store, "agents" | "load" | "deliver">;
  readonly clock: Clock;
  readonly supervisor: Pick<Supervisor, "notify">;
}

/** Throws GOALD_CONFLICT while the agent's sub-agents exist. */
export async function requireNoChildren({ id }: AgentRow, { store }: Pick<HostParts, "store">): Promise<void> {
  const others = (await descendantsOf(id, store)).map((row) => row.id);
  if (others.length === 0) return;
  // Lists the deepest sub-agents first, so that each has none left when it is removed.
  const calls = others.toReversed().join(" && goald rm ");
  throw new GoaldError(
    "GOALD_CONFLICT",
    `${id} has started ${others.length === 1 ? "an agent that still exists" : "agents that still exist"}: ${others.join(", ")}.`,
    { hint: `Remove what it has started first: goald rm ${calls}` },
  );
}

/** Called before the removal: the parent gets back the unused part of the reserved limits. */
export async function tellRemoval(
  row: AgentRow,
  state: AgentState,
  { store, clock, supervisor }: HostParts,
): Promise<void> {
  if (row.parent === null) return;
  const text = "It was removed by a person. Its files stay where they are, unless those were removed, too.";
  const observation = { status: "failed", code: "agent-removed", text, source: "goald", artifacts: [] } as const;
  const told = {
    agent: row.id,
    status: "ended",
    tasksReceived: state.tasksReceived,
    spent: spentOf(state),
    observation,
  } as const;
  await store.deliver(
    row.parent,
    `removed/${row.id}/${row.createdAt}`,
    { type: "report", ...told },
    clock.now().toISOString(),
  );
  supervisor.notify(row.parent);
}

/** Appends to `note` a sentence that names the sub-agents that stop or continue too, if any. */
export async function withOthers(
  { id }: AgentRow,
  verb: "stop" | "go on",
  store: HostParts["store"],
  note = "",
): Promise<string> {
  const meant: string[] = [];
  for (const row of await descendantsOf(id, store)) {
    const state = await stateOf(store, row);
    if (state.paused?.code === "parent" || (verb === "stop" && !isOver(state))) meant.push(row.id);
  }
  const others = meant.length === 0 ? "" : `Its agents ${verb} with it: ${meant.join(", ")}.`;
  return [note, others].filter((sentence) => sentence !== "").join(" ");
}
