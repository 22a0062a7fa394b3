/** step-list.ts -- the steps of an agent in short, loaded from a store. */
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import { count, described, listOf, nullable, oneOf, open, ordinal, type Static, text, time } from "#util/schema.ts";
import { allEvents } from "./read-log.ts";

const StepSummary = open({
  step: ordinal,
  turn: ordinal,
  startedAt: time,
  command: described(nullable(text), "Name of the command; null when the reply had none."),
  thought: text,
  status: described(
    nullable(oneOf("ok", "failed", "denied", "cancelled", "unknown")),
    "Status of the result; null until there is one.",
  ),
});
type StepSummary = Static<typeof StepSummary>;

export const StepPage = open({
  agent: text,
  steps: listOf(StepSummary),
  last: described(count, "Number of the last step of the agent, listed or not."),
});
export type StepPage = Static<typeof StepPage>;

/** Steps after `after`, oldest first, at most `limit`. */
export async function listSteps(
  { id }: AgentRow,
  { after, limit }: { readonly after: number; readonly limit: number },
  reader: Pick<StoreReader, "read">,
): Promise<StepPage> {
  const steps = new Map<number, StepSummary>();
  /** The first call of each step; the others are further calls of the reply, or made by a command. */
  const calls = new Map<number, string>();
  let [turn, last] = [1, 0];
  for await (const event of allEvents(reader, id)) {
    if (event.type === "turn-started") turn = event.turn;
    if (!("step" in event)) continue;
    last = Math.max(last, event.step);
    if (event.step <= after || event.step > after + limit) continue;
    const step = steps.get(event.step) ?? emptySummary(event.step, turn, event.at);
    steps.set(event.step, step);
    if (event.type === "command-requested" && !calls.has(event.step)) calls.set(event.step, event.callId);
    if ("callId" in event && calls.get(event.step) !== event.callId) continue;
    if (event.type === "command-requested")
      steps.set(event.step, { ...step, command: event.call.name, thought: event.thought });
    if (event.type === "command-denied") steps.set(event.step, { ...step, status: "denied" });
    if (event.type === "command-finished") steps.set(event.step, { ...step, status: event.observation.status });
  }
  return { agent: id, steps: [...steps.values()], last };
}

const emptySummary = (step: number, turn: number, startedAt: string): StepSummary => ({
  ...{ step, turn, startedAt, command: null, thought: "", status: null },
});
