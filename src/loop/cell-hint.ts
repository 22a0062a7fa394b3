/** cell-hint.ts -- what a model can do about code that failed, as a sentence. */
import type { CellOutcome, CellProblem } from "#core/ports/sandbox.ts";
import type { ReportParts } from "./report-cell.ts";

export function hintFor(
  { kind, command, missingName }: CellProblem,
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
      if (missingName === undefined) return undefined;
      if (suggested.length === 0) return `There is no name ${missingName}.`;
      return `There is no name ${missingName}. A search for it finds:\n${suggested.join("\n")}`;
  }
}

/** A name that does not exist and that the code calls: a method may be meant, as by a value never. */
export function findMissingCall(outcome: CellOutcome, code: string): string | undefined {
  const name = outcome.kind === "failed" ? outcome.problem.missingName : undefined;
  if (name === undefined) return undefined;
  return new RegExp(`(?<![\\p{ID_Continue}$.])${RegExp.escape(name)}\\s*\\(`, "u").test(code) ? name : undefined;
}
