/**
 * goal-test-code.ts -- runs the program of a person that tests a goal, as a cell of the sandbox.
 *
 * It has a namespace of its own, which is empty before and gone after it, and reads the agent's files. It calls no command,
 * changes no file and reaches no network. It passes when it ends without an error and with exit code 0.
 */
import { INSTALL_SANDBOX } from "#core/cells.ts";
import type { CommandContext } from "#core/command.ts";
import type { GoalTest } from "#core/goal-check.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Cell, CellFunction, CellHost, CellOutcome, Sandbox } from "#core/ports/sandbox.ts";
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
  { language, code }: Extract<GoalTest, { readonly kind: "code" }>,
  { workspace, signal }: CommandContext,
  { agentId, nextVersion, clock, cells }: ProgramParts,
): Promise<Verdict> {
  if (!cells?.sandbox.languages.includes(language))
    return fails(
      `Code of ${language} cannot run here, so nobody can tell. A person can change that. ${INSTALL_SANDBOX}`,
    );
  const timeLimitMs = Math.max(cells.timeLimitMs, MIN_LIMIT_MS);
  const isPython = language === "python";
  const cell: Cell = {
    agent: agentId,
    language,
    code: isPython ? code : `${EXIT_OF_JAVASCRIPT}${code}`,
    name: "the check",
    version: nextVersion(),
    saved: null,
    isAlone: true,
    seed: 0,
    startedAt: clock.now().toISOString(),
    timeLimitMs,
    functions: isPython ? [] : READING_FUNCTIONS,
    modules: [],
    imports: "safe",
    hasStop: !isPython,
  };
  return describeOutcome(await cells.sandbox.run(cell, openReadingHost(workspace), signal), timeLimitMs);
}

/** In the line of the code, so that the numbers of its lines stay. */
const EXIT_OF_JAVASCRIPT = "globalThis.process ??= { exit: (code = 0) => stop(code) }; ";

/** Python opens files by itself. */
const READING_FUNCTIONS: readonly CellFunction[] = [
  {
    name: "read_file",
    parameters: [{ name: "file", isRequired: true }],
    signature: "read_file(file: string): string",
    doc: "Returns the text of a file.",
  },
  { name: "list_files", parameters: [], signature: "list_files(): string[]", doc: "Returns the paths of all files." },
];

function openReadingHost(workspace: CommandContext["workspace"]): CellHost {
  const files = openCellFiles(workspace);
  return {
    ...files,
    call: async (name, { file }) => ({ ...(await look(name, String(file), files)), changesFiles: false }),
    run: async () => refuse("A check gives the model no work."),
    saveFiles: async () => refuse("A check may read files, and not change them. In Python, /tmp is free."),
  };
}

const refuse = (text: string) => ({ error: { code: "check-only-reads", text } });

async function look(name: string, path: string, files: ReturnType<typeof openCellFiles>) {
  if (name === "list_files") return { value: (await files.listFiles()).files.map((file) => file.path) };
  if (name !== "read_file") return refuse("A check calls no commands.");
  const reply = await files.readFile(path);
  return "error" in reply ? reply : { value: new TextDecoder().decode(reply.value) };
}

function describeOutcome(outcome: CellOutcome, timeLimitMs: number): Verdict {
  const { output } = outcome;
  const printed = output.trim() === "" ? "" : ` It printed: ${lastOf(output)}`;
  if (outcome.kind === "failed") return fails(`${describeProblem(outcome.problem, timeLimitMs)}${printed}`);
  const { value = 0 } = outcome.stop ?? {};
  if (value !== 0 && value !== null) return fails(`It ended with exit code ${oneLine(String(value), 50)}.${printed}`);
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
