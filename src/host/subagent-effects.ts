/** subagent-effects.ts -- what a person's doing to one agent means to those that it started, and to the one that started it. */
import { GoaldError } from "#core/errors.ts";
import { spentOf } from "#core/limits.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Store } from "#core/ports/store.ts";
import { type AgentState, isOver } from "#core/state.ts";
import { descendantsOf, stateOf } from "#views/load-agent.ts";
import type { Supervisor } from "./supervisor.ts";

interface HostParts {
  readonly store: Pick<Store, "agents" | "load" | "deliver">;
  readonly clock: Clock;
  readonly supervisor: Pick<Supervisor, "notify">;
}

/** Throws GOALD_CONFLICT while agents that it started are there. */
export async function requireNoChildren({ id }: AgentRow, { store }: Pick<HostParts, "store">): Promise<void> {
  const others = (await descendantsOf(id, store)).map((row) => row.id);
  if (others.length === 0) return;
  // Those below first: each is without others when its turn comes.
  const calls = others.toReversed().join(" && goald rm ");
  throw new GoaldError(
    "GOALD_CONFLICT",
    `${id} has started ${others.length === 1 ? "an agent that still exists" : "agents that still exist"}: ${others.join(", ")}.`,
    { hint: `Remove what it has started first: goald rm ${calls}` },
  );
}

/** Before the removal: the one that started it gets back what it had set aside. */
export async function tellRemoval(
  row: AgentRow,
  state: AgentState,
  { store, clock, supervisor }: HostParts,
): Promise<void> {
  if (row.parent === null) return;
  const text = "It was removed by a person. Its files stay where they are, unless those were removed, too.";
  const observation = { status: "failed", code: "agent-removed", text, source: "goald", artifacts: [] } as const;
  const told = { agent: row.id, standing: "ended", heard: state.heard, spent: spentOf(state), observation } as const;
  await store.deliver(
    row.parent,
    `removed/${row.id}/${row.createdAt}`,
    { type: "report", ...told },
    clock.now().toISOString(),
  );
  supervisor.notify(row.parent);
}

/** Those that stop with it, or go on with it, in a sentence behind `note`; nothing when there are none. */
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
