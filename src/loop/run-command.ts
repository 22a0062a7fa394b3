/**
 * run-command.ts -- runs one approved call: prepare, intent, run, result; after a crash, probe.
 */

import { type CallFrame, prepareCall, probeCall, runCall } from "#commands/execute.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import { sourcesBeforeCrash } from "#commands/track-services.ts";
import type { FileSources } from "#commands/track-sources.ts";
import type { Observation } from "#core/call.ts";
import { fail } from "#core/command.ts";
import type { NewEvent } from "#core/event.ts";
import { frameOfCall } from "#core/frames.ts";
import type { Move } from "#core/move.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { addSources, outsideOf, plainSources, withSources } from "#core/provenance.ts";
import type { Services } from "#core/services.ts";
import { openCommand } from "#core/state.ts";
import { differed, outcomeUnknown, sourcesOfInterrupted } from "#core/unknown-outcome.ts";
import type { DescribeLeaving } from "./describe-leaving.ts";
import { type FileHistory, markFiles, markStaged, openFileSources } from "./file-sources.ts";
import type { Journal, Outcome } from "./journal.ts";
import { type DownloadMeter, meterDownloads } from "./meter-downloads.ts";
import { type MethodParts, openMethodSearch } from "./method-search.ts";
import { Diverged, Nest, Suspended } from "./nest.ts";
import { openPurchases, type PurchaseParts, type Purchases } from "./purchases.ts";
import { settleResult } from "./settle-result.ts";
import { refuseSecrets, restoreValue } from "./stored-values.ts";
import { grant, openDirectory, type SubagentParts } from "./subagent-calls.ts";
import { effectless, type Work } from "./work.ts";

/** Parts of each call; paid services are created per call. */
export interface CommandParts extends PurchaseParts, MethodParts {
  readonly agentId: string;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly openWorkspace: OpenWorkspace;
  /** Opens a workspace that may also write below `_goald/`. */
  readonly openOwnWorkspace: OpenWorkspace;
  readonly history: FileHistory;
  /** Services that commands use beyond their folder. */
  readonly services: Partial<Services>;
  /** Maximum bytes that the agent downloads in its life; absent for no limit. */
  readonly downloadLimitBytes?: number;
  knowsAgent(id: string): Promise<boolean>;
  /** Absent: commands see no sub-agents and cannot start any. */
  readonly subagents?: SubagentParts;
  readonly describeLeaving?: DescribeLeaving;
  readonly clock: Clock;
  /** Aborted when the host shuts down at once. */
  readonly signal: AbortSignal;
}

export async function execute(
  move: Extract<Move, { kind: "execute" }>,
  journal: Journal,
  parts: CommandParts,
): Promise<Work> {
  const { callId, attempt, effect } = move;
  const open = openCommand(journal.state, callId);
  const command = open && parts.commandsFor(journal.state).get(open.call.name);
  if (!open || !command) return effectless(notThere(callId, journal, parts));
  const call = await callFrame(callId, command, journal, parts);
  const of = { step: open.step, callId };
  // An earlier attempt may have received words, and left them in a file.
  const before = attempt > 1 ? sourcesBeforeCrash(command, call.args) : [];
  const looked = await prepareCall({ ...call, received: addSources(before, open.intent?.outside ?? []) });
  const earlier = open.intent && { prepared: await restoreValue(open.intent.prepared, journal.read) };
  // The first attempt's record stays valid for `probe`. `prepare` runs again only to preserve current files.
  const ready = earlier ?? refuseSecrets(looked.result, command.name, journal.scrub);
  if ("refused" in ready)
    return effectless({ events: [{ type: "command-finished", ...of, observation: ready.refused, durationMs: 0 }] });
  const { prepared } = ready;
  const { annotations } = command;
  const { epoch } = journal.lease;
  const purchases = openPurchases(callId, command.needs, journal.state, { ...parts, scrub: journal.scrub });
  const started: NewEvent = {
    type: "command-started",
    ...of,
    attempt,
    epoch,
    effect,
    annotations,
    prepared,
    ...outsideOf(looked.outside),
    ...(purchases ? { reserved: purchases.reserved } : {}),
  };
  return {
    intent: { events: [started], files: await markFiles(looked.files, of, call.fileSources, "prepare") },
    act: async (enter) => {
      const downloads = meterDownloads(call.services, journal.state, parts.downloadLimitBytes);
      const services = { ...call.services, ...downloads.services, ...purchases?.services };
      const nest = new Nest(callId, journal, parts, enter);
      const signal = AbortSignal.any([call.signal, nest.signal]);
      try {
        const received = looked.outside;
        const running = { ...call, services, nest, signal, received, downloads };
        return await act(running, prepared, of, journal, parts, purchases);
      } catch (thrown) {
        if (thrown instanceof Suspended) return null;
        if (thrown instanceof Diverged) return { events: [differed(callId, open)] };
        throw thrown;
      }
    },
  };
}

async function act(
  call: CallFrame & { readonly nest: Nest; readonly fileSources: FileSources; readonly downloads: DownloadMeter },
  prepared: unknown,
  of: { readonly step: number; readonly callId: string },
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
  const granted = await grant(execution.staged, execution.outside, journal.state, of, parts.subagents);
  if ("refused" in granted) return finished(granted.refused);
  const { events } = granted;
  const staged = granted.staged.map((write) => markStaged(write, outside, parts.agentId));
  const strangers = await unknownReceivers(staged, parts);
  if (strangers.length > 0) {
    const text = `${call.command.name} wrote to ${strangers.join(", ")}, and there is no such agent. Nothing of it was sent or kept.`;
    return finished({ status: "failed", code: "no-such-agent", text, source: "goald", artifacts: [] });
  }
  if (result.status !== "waiting") return finished(result, { events, staged });
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

/** Asks an interrupted command whether its effect happened. Changes nothing. */
export async function probe(
  move: Extract<Move, { kind: "probe" }>,
  journal: Journal,
  parts: CommandParts,
): Promise<Work> {
  const { callId, effect } = move;
  const open = openCommand(journal.state, callId);
  const command = open && parts.commandsFor(journal.state).get(open.call.name);
  if (!open?.intent || !command) return effectless(notThere(callId, journal, parts));
  const call = await callFrame(callId, command, journal, parts);
  const prepared = await restoreValue(open.intent.prepared, journal.read);
  const received = addSources(open.intent.outside ?? [], sourcesBeforeCrash(command, call.args));
  const { result, files, outside } = await probeCall({ ...call, received }, prepared);
  switch (result.found) {
    case "not-done":
      return execute({ kind: "execute", callId, attempt: open.intent.attempt + 1, effect }, journal, parts);
    case "unknown":
      return effectless({ events: [outcomeUnknown(callId, open, { problem: result.problem, outside })] });
    case "done": {
      const of = { step: open.step, callId };
      const text = `${command.name} had been done when goald was restarted; it was not repeated.`;
      const observation = {
        status: "ok",
        text,
        source: "goald",
        artifacts: files.map((file) => file.path),
      } as const;
      const marked = withSources(observation, outside);
      const finished: NewEvent = {
        type: "command-finished",
        ...of,
        observation: marked,
        durationMs: 0,
        reconciled: true,
      };
      const written = addSources(plainSources(journal.state.received), outside);
      return effectless({ events: [finished], files: await markFiles(files, of, call.fileSources, written) });
    }
  }
}

async function callFrame(
  callId: string,
  command: RegisteredCommand,
  journal: Journal,
  parts: CommandParts,
): Promise<CallFrame & Pick<Required<CallFrame>, "fileSources">> {
  const { state } = journal;
  const open = openCommand(state, callId);
  const args = (await restoreValue(open?.call.args ?? {}, journal.read)) as CallFrame["args"];
  const { folder, openWorkspace, openOwnWorkspace, signal, subagents, clock } = parts;
  const own = subagents ? { agents: openDirectory(state, subagents, clock) } : {};
  const services = { methods: openMethodSearch(callId, state, parts), ...parts.services, ...own };
  const agent = { id: parts.agentId, name: state.name, goals: state.goals };
  return {
    command,
    args,
    callId,
    step: open?.step ?? state.step,
    ...(open?.script ? { script: open.script } : {}),
    agent,
    folder,
    openWorkspace,
    openOwnWorkspace,
    services,
    signal,
    fileSources: openFileSources(journal, parts.history),
  };
}

/** The command was switched off, or no longer exists, although the call was approved. */
function notThere(callId: string, { state }: Journal, { commandsFor }: CommandParts): Outcome {
  const open = openCommand(state, callId);
  const [text = ""] = commandsFor(state).checkArguments(open?.call.name ?? callId, {});
  const marked = withSources(fail("no-such-command", text), open ? sourcesOfInterrupted(open) : []);
  const of = { step: (open ?? state).step, callId };
  return { events: [{ type: "command-finished", ...of, observation: marked, durationMs: 0 }] };
}
