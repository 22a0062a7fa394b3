/**
 * goal-test-code.ts -- runs the program of a person that tests a goal, as a cell of the sandbox.
 *
 * It has a namespace of its own, which is empty before and gone after it, and reads the agent's files. It calls no command,
 * changes no file and reaches no network. It passes when it ends without an error and with exit code 0.
 */

import type { CommandContext } from "#core/command.ts";
import { INSTALL_SANDBOX } from "#core/command-names.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Cell, CellHost, CellOutcome, Sandbox } from "#core/ports/sandbox.ts";
import { oneLine } from "#core/text.ts";
import { openCellFiles } from "./cell-files.ts";
import { fails, passes, type Verdict } from "./goal-verdict.ts";

export interface ProgramParts {
  readonly agentId: string;
  /** Returns a version that no other cell of the agent has. */
  nextVersion(): string;
  readonly clock: Clock;
  /** Absent: no code runs. */
  readonly cells?: { readonly sandbox: Sandbox; readonly timeLimitMs: number };
}

/** A test may take longer than a cell of the agent. */
const MIN_LIMIT_MS = 5 * 60_000;
const MAX_OUTPUT_CHARS = 250;

export async function runProgram(
  code: string,
  { workspace, signal }: CommandContext,
  { agentId, nextVersion, clock, cells }: ProgramParts,
): Promise<Verdict> {
  if (!cells) return fails(`Code cannot run here, so nobody can tell. A person can change that. ${INSTALL_SANDBOX}`);
  const timeLimitMs = Math.max(cells.timeLimitMs, MIN_LIMIT_MS);
  const cell: Cell = {
    agent: agentId,
    code,
    name: "the check",
    version: nextVersion(),
    saved: null,
    isAlone: true,
    seed: 0,
    startedAt: clock.now().toISOString(),
    timeLimitMs,
    functions: [],
    modules: [],
    imports: "safe",
    hasStop: false,
  };
  return describeOutcome(await cells.sandbox.run(cell, openReadingHost(workspace), signal), timeLimitMs);
}

const openReadingHost = (workspace: CommandContext["workspace"]): CellHost => ({
  ...openCellFiles(workspace),
  call: async () => ({ ...refuse("A check calls no commands."), changesFiles: false }),
  run: async () => refuse("A check gives the model no work."),
  saveFiles: async () => refuse("A check may read files, and not change them; /tmp is free."),
});

const refuse = (text: string) => ({ error: { code: "check-only-reads", text } });

function describeOutcome(outcome: CellOutcome, timeLimitMs: number): Verdict {
  const { output } = outcome;
  const printed = output.trim() === "" ? "" : ` It printed: ${lastOf(output)}`;
  if (outcome.kind === "failed") return fails(`${describeProblem(outcome.problem, timeLimitMs)}${printed}`);
  return passes(`It ended without an error.${printed}`);
}

type Problem = Extract<CellOutcome, { readonly kind: "failed" }>["problem"];

function describeProblem({ kind, type, message, line, source }: Problem, timeLimitMs: number): string {
  if (kind === "timeout") return `It ran longer than ${timeLimitMs / 1000} s and was stopped.`;
  if (type === "SystemExit") return `It ended with exit code ${oneLine(message, 100)}.`;
  const what = `${type}: ${message}`.replace(/[\s:.]+$/, "");
  const where = line === null ? "" : ` (line ${line}${source === null ? "" : `: ${oneLine(source, 100)}`})`;
  return `It failed: ${oneLine(what, 200)}${where}.`;
}

/** Programs tell the result at the end. */
function lastOf(output: string): string {
  const text = oneLine(output, Number.MAX_SAFE_INTEGER);
  return text.length <= MAX_OUTPUT_CHARS ? text : `…${text.slice(1 - MAX_OUTPUT_CHARS).toWellFormed()}`;
}
