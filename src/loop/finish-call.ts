/** finish-call.ts -- runs a started call, and turns what came of it into events: the result, files, and granted writes. */
import { type CallFrame, runCall } from "#commands/execute.ts";
import type { FileSources } from "#commands/track-sources.ts";
import type { Observation } from "#core/call.ts";
import type { CommandWrite, NamespaceWrite } from "#core/command.ts";
import type { NewEvent } from "#core/event.ts";
import { frameOfCall } from "#core/frames.ts";
import { addSources, type OutsideSource, outsideOf, plainSources, withSources } from "#core/provenance.ts";
import { remarkOnAction } from "./action-remarks.ts";
import { markFiles, markStaged } from "./file-sources.ts";
import type { Journal, Outcome } from "./journal.ts";
import type { DownloadMeter } from "./meter-downloads.ts";
import type { Nest } from "./nest.ts";
import { refuseMemories } from "./open-memories.ts";
import type { Purchases } from "./purchases.ts";
import type { CommandParts } from "./run-command.ts";
import { settleResult } from "./settle-result.ts";
import { grant } from "./subagent-calls.ts";

interface OfCall {
  readonly step: number;
  readonly callId: string;
}
type RunningCall = CallFrame & {
  readonly nest: Nest;
  readonly fileSources: FileSources;
  readonly downloads: DownloadMeter;
};

export async function finishCall(
  call: RunningCall,
  prepared: unknown,
  of: OfCall,
  journal: Journal,
  parts: CommandParts,
  purchases?: Purchases,
): Promise<Outcome> {
  const startedAt = parts.clock.now();
  const execution = await runCall(call, prepared);
  call.nest.end();
  const durationMs = parts.clock.now().getTime() - startedAt.getTime();
  const { result } = execution;
  const spent = purchases?.spent();
  const paid = spent ? { spent } : {};
  const outside = addSources(plainSources(journal.state.received), execution.outside);
  const files = await markFiles(execution.files, of, call.fileSources, outside);
  const finished = (observation: Observation, more: Partial<Outcome> = {}): Outcome => {
    const { observation: kept, ...closes } = settleResult(observation, call.command, of.callId, journal.state);
    // The answer of a sub-task is the model's, and may hold all that the agent has received.
    const isAnswer = closes.closesTurn === true && frameOfCall(journal.state, of.callId)?.kind === "run";
    const marked = isAnswer ? { ...kept, ...outsideOf(outside) } : withSources(kept, execution.outside);
    const event: NewEvent = {
      type: "command-finished",
      ...of,
      durationMs,
      ...paid,
      ...call.downloads.counted(),
      observation: marked,
      ...closes,
    };
    return { files, ...more, events: [...(more.events ?? []), event] };
  };
  const { events: noted, writes } = toEvents(execution.staged, of, outside);
  const granted = await grant(writes, execution.outside, journal.state, of, parts.subagents);
  if ("refused" in granted) return finished(granted.refused);
  const events = [...noted, ...granted.events];
  const staged = granted.staged.map((write) => markStaged(write, outside, parts.agentId));
  const strangers = await unknownReceivers(staged, parts);
  if (strangers.length > 0) {
    const text = `${call.command.name} wrote to ${strangers.join(", ")}, and there is no such agent. Nothing of it was sent or kept.`;
    return finished({ status: "failed", code: "no-such-agent", text, source: "goald", artifacts: [] });
  }
  const refused = await refuseMemories(staged, parts.agentId, parts.history);
  if (refused !== undefined)
    return finished({ status: "failed", code: "memory", text: refused, source: "goald", artifacts: [] });
  if (result.status !== "waiting")
    return finished(await remarkOnAction(result, of.callId, journal, parts), { events, staged });
  const { waitFor, until } = result;
  const waiting: NewEvent = {
    type: "command-waiting",
    ...of,
    waitFor,
    until,
    ...paid,
    ...outsideOf(execution.outside),
  };
  return { events: [...events, waiting], files, staged };
}

async function unknownReceivers(
  staged: Outcome["staged"] = [],
  { knowsAgent }: CommandParts,
): Promise<readonly string[]> {
  const receivers = staged.flatMap((write) => (write.kind === "send" ? [write.to] : []));
  const known = await Promise.all(receivers.map(knowsAgent));
  return receivers.filter((_name, index) => !known[index]);
}

/** Namespaces and found methods are events of the agent's own log. A namespace holds words of the agent: it carries what that has received. */
function toEvents(staged: readonly CommandWrite[], of: OfCall, outside: readonly OutsideSource[]) {
  const writes: CommandWrite[] = [];
  const events: NewEvent[] = [];
  for (const write of staged) {
    const { kind, ...fields } = write;
    if (kind === "namespace")
      events.push({
        type: "namespace-saved",
        ...of,
        ...(fields as Omit<NamespaceWrite, "kind">),
        ...outsideOf(outside),
      });
    else if (kind === "methods-found") events.push({ type: "methods-found", ...of, names: write.names });
    else if (kind === "task-added")
      events.push({ type: kind, ...of, parent: write.parent, task: write.task, by: "agent" });
    else if (kind === "task-changed") events.push({ type: kind, ...of, id: write.id, state: write.state, by: "agent" });
    else if (kind === "goals-checked") events.push({ type: kind, ...of, results: write.results });
    else writes.push(write);
  }
  return { events, writes };
}
