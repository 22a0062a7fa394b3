/** report-cell.ts -- turns the outcome of a cell into the observation that the model reads. */
import type { ReplyForm } from "#core/agent-settings.ts";
import type { Observation } from "#core/call.ts";
import { fail, succeed } from "#core/command.ts";
import { CELL_DENIED, CELL_FAILED, IMPORT_FAILED, MAX_FAILED_CELLS, TOO_DEEP } from "#core/command-names.ts";
import type { CellOutcome, CellProblem, LostName } from "#core/ports/sandbox.ts";
import type { Frame } from "#core/state.ts";
import { joinNames, oneLine } from "#core/text.ts";
import { hintFor } from "./cell-hint.ts";
import type { SavedFiles } from "./cell-host.ts";
import type { CommandSet } from "./command-set.ts";

const MAX_NAMED = 20;
const MAX_ARTIFACTS = 200;
const MAX_SOURCE_CHARS = 300;
const PICTURE = /\.(?:png|svg)$/i;

export interface ReportParts {
  readonly files: SavedFiles;
  readonly commands: CommandSet;
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

export function reportCell(outcome: CellOutcome, parts: ReportParts): Observation {
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
