/**
 * cells.ts -- runs cells of code: the service `Cells` of one call.
 *
 * A cell acts only through nested work, so it may run again after a crash: from the namespace that `begin` recorded, with the
 * same seed and start time. What the namespace then holds is staged with the result.
 */

import type { CommandContext, NamespaceWrite } from "#core/command.ts";
import type { EventOf } from "#core/event.ts";
import { frameOfCall } from "#core/frames.ts";
import type { Cell, ImportRule, Sandbox, SavedNamespace } from "#core/ports/sandbox.ts";
import type { Cells } from "#core/services.ts";
import { formOfFrame, openCommand } from "#core/state.ts";
import { findMissingCall } from "./cell-hint.ts";
import { changesFor, openCellHost, type SavedFiles } from "./cell-host.ts";
import type { Journal } from "./journal.ts";
import { suggestMethods } from "./method-search.ts";
import type { Nest } from "./nest.ts";
import { changesToRedo } from "./redo-changes.ts";
import { reportCell } from "./report-cell.ts";
import type { CommandParts } from "./run-command.ts";
import { restoreValue } from "./stored-values.ts";

export interface CellParts {
  readonly sandbox: Sandbox;
  /** Time that the code of one cell may take. */
  readonly timeLimitMs: number;
  readonly imports: ImportRule;
  /** What `get_user_location()` returns; null: not known. */
  readonly location: Readonly<Record<string, unknown>> | null;
}

/** `nest`: absent while the command is prepared. */
interface CellCall {
  readonly callId: string;
  readonly journal: Journal;
  readonly parts: CommandParts & { readonly cells: CellParts };
  readonly nest?: Nest;
}

export function openCells(call: CellCall): Cells {
  const { callId, journal, parts } = call;
  const { random = Math.random, clock } = parts;
  return {
    begin: () => ({
      seed: Math.floor(random() * 2 ** 32),
      startedAt: clock.now().toISOString(),
      namespaceSeq: journal.state.namespace?.seq ?? null,
    }),
    received: () => journal.state.namespace?.outside ?? [],
    changes: () => changesFor(callId, parts.cells),
    run: async (cell, context) => {
      const before = await loadNamespace(cell.namespaceSeq, journal);
      return runCell({ ...call, before }, cell, context);
    },
  };
}

interface OpenCell extends CellCall {
  readonly before: EventOf<"namespace-saved"> | undefined;
}

async function runCell(open: OpenCell, given: Parameters<Cells["run"]>[0], context: CommandContext) {
  const { callId, journal, parts, nest, before } = open;
  const { sandbox } = parts.cells;
  const { state } = journal;
  const version = `${callId}#${openCommand(state, callId)?.intent?.attempt ?? 1}`;
  const commands = parts.commandsFor(state);
  const files: SavedFiles = { paths: new Set(), notes: [] };
  const redo = await changesToRedo(callId, journal);
  const cell: Cell = {
    agent: parts.agentId,
    code: given.code,
    name: given.name,
    version,
    saved: before ? savedBy(before) : null,
    ...(redo ? { redo } : {}),
    seed: given.seed,
    startedAt: given.startedAt,
    timeLimitMs: parts.cells.timeLimitMs,
    functions: commands.callable.functions.all,
    modules: commands.modules.map(({ file, source }) => ({ file, source })),
    ...rulesOf(open),
  };
  const host = openCellHost({ context, commands, files, nest, cells: parts.cells, journal });
  const outcome = await sandbox.run(cell, host, context.signal);
  if (outcome.saved) {
    const write: NamespaceWrite = {
      kind: "namespace",
      version,
      definitions: outcome.saved.definitions,
      values: outcome.saved.values,
      lost: outcome.lost,
      ...(outcome.change ? { change: outcome.change } : {}),
    };
    context.stage(write);
  }
  const missing = findMissingCall(outcome, given.code);
  const frame = frameOfCall(state, callId);
  return reportCell(outcome, {
    suggested: missing === undefined ? [] : await suggestMethods(missing, state, parts, context.signal),
    files,
    commands,
    form: formOfFrame(state),
    frame: frame?.kind ?? "agent",
    failedBefore: frame?.failedCells ?? 0,
    lostBefore: before?.lost ?? [],
    timeLimitMs: cell.timeLimitMs,
  });
}

/** The first and the last cell of a command differ from those in sub-tasks only by what is recorded, so these follow from the log. */
function rulesOf({ callId, journal, parts }: CellCall): Pick<Cell, "imports" | "location" | "hasStop"> {
  const { imports, location } = parts.cells;
  const isReact = formOfFrame(journal.state) === "react";
  // Code that was called by code has no work of its own to end.
  const hasStop = frameOfCall(journal.state, callId)?.kind !== "call";
  return {
    imports: isReact ? "none" : imports,
    hasStop,
    ...(isReact || location ? { location } : {}),
  };
}

async function loadNamespace(seq: number | null, journal: Journal): Promise<EventOf<"namespace-saved"> | undefined> {
  if (seq === null) return undefined;
  const event = await journal.eventAt(seq);
  if (event.type !== "namespace-saved") return undefined;
  return (await restoreValue(event, journal.read)) as EventOf<"namespace-saved">;
}

const savedBy = ({ version, definitions, values }: EventOf<"namespace-saved">): SavedNamespace => ({
  version,
  definitions,
  values,
});
