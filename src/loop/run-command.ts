/**
 * run-command.ts -- runs one approved call: prepare, intent, run, result; after a crash, probe.
 */
import { type CallFrame, type Prepared, prepareCall, probeCall, runCall } from "#commands/execute.ts";
import type { RegisteredCommand } from "#commands/registry.ts";
import type { Observation } from "#core/call.ts";
import { fail } from "#core/command.ts";

import type { NewEvent } from "#core/event.ts";
import type { Move } from "#core/move.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import type { Services } from "#core/services.ts";
import { openCommand } from "#core/state.ts";
import { differed, outcomeUnknown } from "#core/unknown-outcome.ts";
import type { CommandSet, CommandsFor } from "./command-set.ts";
import type { Journal, Outcome } from "./journal.ts";
import { Diverged, Nest, Suspended } from "./nest.ts";
import { openPurchases, type PurchaseParts, type Purchases } from "./purchases.ts";
import { holdsSecret, restoreValue } from "./stored-values.ts";
import { grant, openDirectory, type SubagentParts } from "./subagent-calls.ts";
import { effectless, type Work } from "./work.ts";

/** Parts of each call; paid services are created per call. */
export interface CommandParts extends PurchaseParts {
  readonly agentId: string;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly commandsFor: CommandsFor;
  readonly openWorkspace: OpenWorkspace;
  /** Opens a workspace that may also write below `_goald/`. */
  readonly openOwnWorkspace: OpenWorkspace;
  /** Services that commands use beyond their folder. */
  readonly services: Partial<Services>;
  knowsAgent(id: string): Promise<boolean>;
  /** Absent: commands see no sub-agents and cannot start any. */
  readonly subagents?: SubagentParts;
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
  const commands = parts.commandsFor(journal.state);
  const command = open && commands.get(open.call.name);
  if (!open || !command)
    return effectless(notThere(callId, open?.step ?? journal.state.step, open?.call.name ?? callId, commands));
  const call = await callFrame(callId, command, journal, parts);
  const of = { step: open.step, callId };
  const looked = await prepareCall(call);
  const earlier = open.intent && { prepared: await restoreValue(open.intent.prepared, journal.read) };
  // The first attempt's record stays valid for `probe`. `prepare` runs again only to preserve current files.
  const ready = earlier ?? refuseSecrets(looked.result, command.name, journal);
  if ("refused" in ready)
    return effectless({ events: [{ type: "command-finished", ...of, observation: ready.refused, durationMs: 0 }] });
  const { prepared } = ready;
  const { annotations } = command;
  const { epoch } = journal.lease;
  const purchases = openPurchases(command.needs, journal.state, { ...parts, scrub: journal.scrub });
  const started: NewEvent = {
    type: "command-started",
    ...of,
    attempt,
    epoch,
    effect,
    annotations,
    prepared,
    ...(purchases ? { reserved: purchases.reserved } : {}),
  };
  return {
    intent: { events: [started], files: looked.files.map((file) => ({ ...file, ...of })) },
    act: async (enter) => {
      const services = { ...call.services, ...purchases?.services };
      const nest = new Nest(callId, journal, parts.commandsFor, enter);
      const signal = AbortSignal.any([call.signal, nest.signal]);
      try {
        return await act({ ...call, services, nest, signal }, prepared, of, journal, parts, purchases);
      } catch (thrown) {
        if (thrown instanceof Suspended) return null;
        if (thrown instanceof Diverged) return { events: [differed(callId, open)] };
        throw thrown;
      }
    },
  };
}

async function act(
  call: CallFrame & { readonly nest: Nest },
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
  const files = execution.files.map((file) => ({ ...file, ...of }));
  const finished = (observation: Observation, more: Partial<Outcome> = {}): Outcome => {
    const closesTurn = call.command.closesTurn === true && observation === result ? { closesTurn: true } : {};
    const event: NewEvent = { type: "command-finished", ...of, durationMs, ...paid, observation, ...closesTurn };
    return { files, ...more, events: [...(more.events ?? []), event] };
  };
  const granted = await grant(execution.staged, journal.state, of, parts.subagents);
  if ("refused" in granted) return finished(granted.refused);
  const { events, staged } = granted;
  const strangers = await unknownReceivers(staged, parts);
  if (strangers.length > 0) {
    const text = `${call.command.name} wrote to ${strangers.join(", ")}, and there is no such agent. Nothing of it was sent or kept.`;
    return finished({ status: "failed", code: "no-such-agent", text, source: "goald", artifacts: [] });
  }
  if (result.status !== "waiting") return finished(result, { events, staged });
  const { waitFor, until } = result;
  return { events: [...events, { type: "command-waiting", ...of, waitFor, until, ...paid }], files, staged };
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
  const commands = parts.commandsFor(journal.state);
  const command = open && commands.get(open.call.name);
  if (!open?.intent || !command)
    return effectless(notThere(callId, open?.step ?? journal.state.step, open?.call.name ?? callId, commands));
  const call = await callFrame(callId, command, journal, parts);
  const prepared = await restoreValue(open.intent.prepared, journal.read);
  const { result, files } = await probeCall(call, prepared);
  switch (result.found) {
    case "not-done":
      return execute({ kind: "execute", callId, attempt: open.intent.attempt + 1, effect }, journal, parts);
    case "unknown":
      return effectless({ events: [outcomeUnknown(callId, open, result.problem)] });
    case "done": {
      const of = { step: open.step, callId };
      const text = `${command.name} had been done when goald was restarted; it was not repeated.`;
      const observation = {
        status: "ok",
        text,
        source: "goald",
        artifacts: files.map((file) => file.path),
      } as const;
      const finished: NewEvent = { type: "command-finished", ...of, observation, durationMs: 0, reconciled: true };
      return effectless({ events: [finished], files: files.map((file) => ({ ...file, ...of })) });
    }
  }
}

async function callFrame(
  callId: string,
  command: RegisteredCommand,
  journal: Journal,
  parts: CommandParts,
): Promise<CallFrame> {
  const { state } = journal;
  const open = openCommand(state, callId);
  const args = (await restoreValue(open?.call.args ?? {}, journal.read)) as CallFrame["args"];
  const { folder, openWorkspace, openOwnWorkspace, signal, subagents, clock } = parts;
  const services = subagents ? { ...parts.services, agents: openDirectory(state, subagents, clock) } : parts.services;
  const agent = { id: parts.agentId, name: state.name, goals: state.goals };
  return {
    command,
    args,
    callId,
    step: open?.step ?? state.step,
    agent,
    folder,
    openWorkspace,
    openOwnWorkspace,
    services,
    signal,
  };
}

/** A prepared value comes back as it is, so it cannot be scrubbed: what holds a secret is not stored and not run. */
function refuseSecrets(looked: Prepared, name: string, { scrub }: Journal): Prepared {
  if ("refused" in looked || !holdsSecret(looked.prepared, scrub)) return looked;
  const text =
    `${name} was not run: what it read to prepare itself holds a secret of the settings (a key or a password), which is never stored. ` +
    "Leave that out, or use another command.";
  return { refused: fail("secret-prepared", text) };
}

/** The command was switched off, or no longer exists, although the call was approved. */
function notThere(callId: string, step: number, name: string, commands: CommandSet): Outcome {
  const text = commands.checkArguments(name, {}).join(" ");
  const observation = { status: "failed", code: "no-such-command", text, source: "goald", artifacts: [] } as const;
  return { events: [{ type: "command-finished", step, callId, observation, durationMs: 0 }] };
}
