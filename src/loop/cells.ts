/**
 * cells.ts -- runs cells of code: the service `Cells` of one call. A cell acts only through nested work, so it may run
 * again after a crash: from the namespace that `begin` recorded, with the same seed and start time. What the namespace
 * then holds is staged with the result.
 */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { Observation } from "#core/call.ts";
import {
  CELL_DENIED,
  CELL_FAILED,
  type CommandContext,
  fail,
  IMPORT_FAILED,
  MAX_FAILED_CELLS,
  type NamespaceWrite,
  succeed,
  TOO_DEEP,
} from "#core/command.ts";
import type { EventOf } from "#core/event.ts";
import { frameOwning } from "#core/frames.ts";
import type {
  Cell,
  CellOutcome,
  CellProblem,
  ImportRule,
  LostName,
  Sandbox,
  SavedNamespace,
} from "#core/ports/sandbox.ts";
import type { Cells } from "#core/services.ts";
import { type Frame, formOfFrame, openCommand } from "#core/state.ts";
import { joinNames, oneLine, restoreValue } from "#core/text.ts";
import { changesFor, openCellBridge, type SavedFiles } from "./cell-bridge.ts";
import type { Journal } from "./journal.ts";
import { suggestMethods } from "./method-search.ts";
import { changesToRedo, type RecordedNestedWork } from "./nested-work.ts";
import type { CommandParts } from "./run-command.ts";

export interface CellParts {
  readonly sandbox: Sandbox;
  readonly timeLimitMs: number;
  readonly imports: ImportRule;
  /** What `get_user_location()` returns; null: not known. */
  readonly location: Readonly<Record<string, unknown>> | null;
  /** Receives lines that code prints, for display. */
  readonly onPrinted?: ((line: string) => void) | undefined;
}

/** `nested`: absent while the command is prepared. */
interface CellCall {
  readonly callId: string;
  readonly journal: Journal;
  readonly parts: CommandParts & { readonly cells: CellParts };
  readonly nested?: RecordedNestedWork | undefined;
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
    run: async ({ namespaceSeq, ...given }, context) => {
      return runCell(call, await loadNamespace(namespaceSeq, journal), given, context);
    },
  };
}

async function runCell(
  call: CellCall,
  before: EventOf<"namespace-saved"> | undefined,
  given: Pick<Cell, "code" | "name" | "seed" | "startedAt">,
  context: CommandContext,
) {
  const { callId, journal, parts, nested } = call;
  const { sandbox } = parts.cells;
  const { state } = journal;
  const version = `${callId}#${openCommand(state, callId)?.intent?.attempt ?? 1}`;
  const commands = parts.commandsFor(state);
  const files: SavedFiles = { paths: new Set(), notes: [] };
  const redo = await changesToRedo(callId, journal);
  const cell: Cell = {
    ...given,
    agent: parts.agentId,
    version,
    saved: before ? savedBy(before) : null,
    ...(redo ? { redo } : {}),
    timeLimitMs: parts.cells.timeLimitMs,
    functions: commands.callable.functions.all,
    modules: commands.modules.map(({ file, source }) => ({ file, source })),
    ...rulesOf(call),
  };
  const bridge = openCellBridge({ context, commands, files, nested, cells: parts.cells });
  const outcome = await sandbox.run(cell, bridge, context.signal);
  if (outcome.saved) {
    const write: NamespaceWrite = {
      kind: "namespace",
      ...outcome.saved,
      version,
      lost: outcome.lost,
      ...(outcome.change ? { change: outcome.change } : {}),
    };
    context.stage(write);
  }
  const missing = findMissingCall(outcome, given.code);
  const frame = frameOwning(state, callId);
  return reportCell(outcome, {
    suggested: missing === undefined ? [] : await suggestMethods(missing, state, parts, context.signal),
    files,
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
  const hasStop = frameOwning(journal.state, callId)?.kind !== "call";
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

const MAX_NAMED = 20;
const MAX_ARTIFACTS = 200;
const MAX_SOURCE_CHARS = 300;
const PICTURE = /\.(?:png|svg)$/i;

interface ReportParts {
  readonly files: SavedFiles;
  readonly form: ReplyForm;
  /** The frame of the cell's call. */
  readonly frame: Frame["kind"];
  /** Cells of that frame that failed before this one, in a row. */
  readonly failedBefore: number;
  /** Names that the namespace before could not keep. */
  readonly lostBefore: readonly LostName[];
  readonly timeLimitMs: number;
  /** Functions that a name may have meant that does not exist, one a line. */
  readonly suggested: readonly string[];
}

function reportCell(outcome: CellOutcome, parts: ReportParts): Observation {
  const { files, frame, form } = parts;
  const artifacts = [...files.paths].slice(0, MAX_ARTIFACTS);
  const about = [...describeFiles(files), ...describeGone(outcome), ...describeLost(outcome, parts.lostBefore)];
  // The words come from files, commands and models: data, whoever wrote them.
  const more = { source: "workspace", artifacts } as const;
  if (outcome.kind === "failed") {
    const lines = [...describeProblem(outcome.problem, parts), ...printed(outcome), ...about];
    if (!outcome.saved) lines.push("The names are those from before this code.");
    const code = codeOf(outcome.problem);
    if (code === CELL_FAILED && parts.failedBefore === MAX_FAILED_CELLS - 2)
      lines.push(`One more failure in a row ${frame === "run" ? "ends this sub-task" : "pauses you"}.`);
    return fail(code, lines.join("\n"), more);
  }
  const { value, stop } = outcome;
  const shown = [outcome.output.trimEnd(), value?.text ?? ""].filter((text) => text !== "");
  // In the dialog format the observation stays empty, and has a remark (action-remarks.ts).
  const isSilent = shown.length === 0 && about.length === 0 && !stop && form !== "react";
  const text = [...shown, ...about, ...(isSilent ? [HINT_TO_PRINT] : [])].join("\n");
  const json = stop && frame === "run" ? stop.value : value?.json;
  return succeed(text, {
    ...more,
    ...(frame !== "agent" && json !== undefined ? { value: json } : {}),
    ...(stop && frame !== "call" ? { asksToEnd: true } : {}),
  });
}

const IMPORT_ERRORS = ["ImportError", "ModuleNotFoundError"];
const HINT_TO_PRINT = "The code ran and showed nothing. End it with an expression, or print what you need to see.";
/** A refused command is not a mistake in the code, as it is not one in the other forms. */
function codeOf({ type, command }: CellProblem): string {
  if (IMPORT_ERRORS.includes(type)) return IMPORT_FAILED;
  if (command?.code === "denied") return CELL_DENIED;
  return command?.code === TOO_DEEP ? TOO_DEEP : CELL_FAILED;
}

function describeProblem(problem: CellProblem, parts: ReportParts): readonly string[] {
  const { kind, type, message, line, source } = problem;
  const where = line === null ? [] : [`Line ${line}${source === null ? "" : `: ${oneLine(source, MAX_SOURCE_CHARS)}`}`];
  const hint = hintFor(problem, parts);
  const what = kind === "error" || kind === "syntax" ? `${type}: ${message}` : message;
  return [what, ...where, ...(hint === undefined ? [] : [hint])];
}

const printed = ({ output }: CellOutcome): readonly string[] =>
  output.trim() === "" ? [] : [`It had printed:\n${output.trimEnd()}`];

function describeFiles({ paths, notes }: SavedFiles): readonly string[] {
  const pictures = [...paths].filter((path) => PICTURE.test(path));
  return [...(pictures.length > 0 ? [`Pictures: ${joinNames(pictures, MAX_NAMED)}.`] : []), ...new Set(notes)];
}

const describeGone = ({ gone }: CellOutcome): readonly string[] =>
  gone ? [`Your variables could not be loaded and are gone: ${joinNames(gone, MAX_NAMED)}.`] : [];

/** Only names that are newly lost. */
function describeLost({ lost }: CellOutcome, before: readonly LostName[]): readonly string[] {
  const fresh = lost.filter(({ name }) => !before.some((one) => one.name === name));
  if (fresh.length === 0) return [];
  const named = fresh.map(({ name, reason }) => `${name} (${reason})`);
  return [`Not kept after this process ends: ${joinNames(named, MAX_NAMED)}.`];
}

/** Returns what a model can do about code that failed, as a sentence. */
function hintFor(
  { kind, type, command, missingName }: CellProblem,
  { timeLimitMs, suggested }: Pick<ReportParts, "timeLimitMs" | "suggested">,
): string | undefined {
  switch (kind) {
    case "timeout":
      return `Code may take ${Math.round(timeLimitMs / 1000)} s. Do less at once, or in several cells.`;
    case "memory":
      return "Read and keep less at once.";
    case "died":
      return "Do it in another way.";
    default:
      if (command) return `The command failed with code ${JSON.stringify(command.code)}; code can catch CommandError.`;
      if (type === "ZoneInfoNotFoundError")
        return "The sandbox has no time zones: use datetime.timezone with an offset.";
      if (missingName === undefined) return undefined;
      if (suggested.length === 0) return `There is no name ${missingName}.`;
      return `There is no name ${missingName}. A search for it finds:\n${suggested.join("\n")}`;
  }
}

/** A name that does not exist and that the code calls: a method may be meant, as by a value never. */
function findMissingCall(outcome: CellOutcome, code: string): string | undefined {
  const name = outcome.kind === "failed" ? outcome.problem.missingName : undefined;
  if (name === undefined) return undefined;
  return new RegExp(`(?<![\\p{ID_Continue}$.])${RegExp.escape(name)}\\s*\\(`, "u").test(code) ? name : undefined;
}
