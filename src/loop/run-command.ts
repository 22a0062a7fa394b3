/**
 * run-command.ts -- runs one approved call: prepare, intent, run, result; after a crash, probe.
 */

import { prepareCall, probeCall } from "#commands/execute.ts";
import { sourcesBeforeCrash } from "#commands/track-sources.ts";
import { differed, outcomeUnknown } from "#core/call.ts";
import type { Move } from "#core/decide.ts";
import type { NewEvent } from "#core/event.ts";
import { isNestedCall } from "#core/frames.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { OpenWorkspace } from "#core/ports/workspace.ts";
import { addSources, outsideOf, plainSources, withSources } from "#core/provenance.ts";
import type { Services } from "#core/services.ts";
import { openCommand } from "#core/state.ts";
import type { CellParts } from "./cells.ts";
import type { DescribeLeaving } from "./describe-leaving.ts";
import { type FileHistory, markFiles } from "./file-sources.ts";
import { finishCall } from "./finish-call.ts";
import type { Journal } from "./journal.ts";
import { meterDownloads } from "./meter-downloads.ts";
import type { MethodParts } from "./method-search.ts";
import { Diverged, Nest, Suspended } from "./nest.ts";
import { cellsFor, notThere, openCall } from "./open-call.ts";
import type { OwnMemories } from "./open-memories.ts";
import { openPurchases, type PurchaseParts } from "./purchases.ts";
import { refuseSecrets, restoreValue } from "./stored-values.ts";
import type { SubagentParts } from "./subagent-calls.ts";
import { effectless, type Work } from "./work.ts";

/** Parts of each call; paid services are created per call. */
export interface CommandParts extends PurchaseParts, MethodParts {
  readonly agentId: string;
  /** Absolute path of the agent's folder. */
  readonly folder: string;
  readonly openWorkspace: OpenWorkspace;
  /** Opens a workspace that may also write below `_goald/`. */
  readonly openOwnWorkspace: OpenWorkspace;
  readonly history: FileHistory & OwnMemories;
  /** Services that commands use beyond their folder. */
  readonly services: Partial<Services>;
  /** Maximum bytes that the agent downloads in its life; absent for no limit. */
  readonly downloadLimitBytes?: number;
  knowsAgent(id: string): Promise<boolean>;
  /** Absent: commands see no sub-agents and cannot start any. */
  readonly subagents?: SubagentParts;
  readonly describeLeaving?: DescribeLeaving;
  /** Absent: no code runs. */
  readonly cells?: CellParts;
  /** Random number from 0 to 1 for the seeds of cells. Default: Math.random. */
  random?(): number;
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
  const call = await openCall(callId, command, journal, parts);
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
  const purchases = openPurchases(command.needs, journal.state, { ...parts, scrub: journal.scrub });
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
      const nest = new Nest(callId, journal, parts, enter);
      const services = {
        ...call.services,
        ...downloads.services,
        ...purchases?.services,
        ...cellsFor(callId, journal, parts, nest),
      };
      const signal = AbortSignal.any([call.signal, nest.signal]);
      try {
        const received = looked.outside;
        const running = { ...call, services, nest, signal, received, downloads };
        return await finishCall(running, prepared, of, journal, parts, purchases);
      } catch (thrown) {
        if (thrown instanceof Suspended) return null;
        if (thrown instanceof Diverged) return { events: [differed(callId, open)] };
        throw thrown;
      }
    },
  };
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
  const call = await openCall(callId, command, journal, parts);
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
      const artifacts = files.map((file) => file.path);
      // Code expects the path of the file that the command wrote, as from its `run`.
      const value = artifacts.length === 1 && isNestedCall(callId) ? { value: artifacts[0] } : {};
      const observation = { status: "ok", text, source: "goald", artifacts, ...value } as const;
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
