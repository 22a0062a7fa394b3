/**
 * goal-tests.ts -- runs the tests that prove goals: the service `tests` of one call. A test looks at the agent's files
 * and at addresses that a person named, and changes nothing. What it cannot find out, such as a file that is refused or
 * a program that cannot run here, is a failed test that says why.
 */
import { type CommandContext, INSTALL_SANDBOX } from "#core/command.ts";
import { GoaldError, isGoaldError, toError } from "#core/errors.ts";
import {
  type AddressStatus,
  type CheckResult,
  type GoalTest,
  type GoalTests,
  MAX_PROOF_CHARS,
} from "#core/goal-check.ts";
import type { Clock } from "#core/ports/clock.ts";
import type { Cell, CellBridge, CellOutcome, CellProblem, Sandbox } from "#core/ports/sandbox.ts";
import type { FileStat, Workspace } from "#core/ports/workspace.ts";
import { countNoun, formatSize, headOf, oneLine } from "#core/text.ts";
import { checkDocument } from "#reply/check-value.ts";
import { clean } from "#util/outside-text.ts";
import { openCellFiles } from "./cell-bridge.ts";

export interface GoalTestParts {
  readonly agentId: string;
  /** Returns a version that no other cell of the agent has. */
  nextVersion(): string;
  readonly clock: Clock;
  /** Absent: no code runs. */
  readonly cells?: { readonly sandbox: Sandbox; readonly timeLimitMs: number } | undefined;
  /** Absent: no address is asked. */
  readonly statuses?: AddressStatus | undefined;
}

export const openGoalTests = (parts: GoalTestParts): GoalTests => ({
  run: async (test, context) => {
    try {
      return await runTest(test, context, parts);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isGoaldError(error) || error.code === "GOALD_STORE_FULL") throw error;
      return fails(`${error.message} ${error.hint}`);
    }
  },
});

function runTest(test: GoalTest, context: CommandContext, parts: GoalTestParts): Promise<Verdict> {
  const { workspace } = context;
  switch (test.kind) {
    case "file":
      return findFile(test, workspace);
    case "contains":
      return findText(test, workspace);
    case "length":
      return checkLength(test, workspace);
    case "schema":
      return matchSchema(test, workspace);
    case "code":
      return runProgram(test.code, context, parts);
    case "url":
      return askAddress(test, context, parts);
    case "judge":
      return judge(test, context);
  }
}

type TestOf<K extends GoalTest["kind"]> = Extract<GoalTest, { readonly kind: K }>;

/** A status from 300 to 399 is wanted from the address itself. */
async function askAddress(
  { url, status }: TestOf<"url">,
  { signal }: CommandContext,
  { statuses }: GoalTestParts,
): Promise<Verdict> {
  if (!statuses) throw new GoaldError("GOALD_NOT_CONFIGURED", "Addresses cannot be asked here.");
  const follows = status === undefined || status < 300 || status > 399;
  const found = await statuses.get(url, { follows }, signal);
  const isWanted = status === undefined ? found >= 200 && found <= 299 : found === status;
  if (isWanted) return passes(`It answered with status ${found}.`);
  const wanted = status === undefined ? "from 200 to 299" : status;
  return fails(`It answered with status ${found}; expected ${wanted}. Find out why, and mend what answers there.`);
}

/** A call of its own has its own limit of money, and an answer is not bought twice. */
async function judge({ question, paths }: TestOf<"judge">, { call }: CommandContext): Promise<Verdict> {
  const { status, code, text } = await call("judge_goal", { question, files: paths });
  if (status === "ok") return passes(headOf(text));
  return fails(code === "model" ? `The model that judges gave no answer: ${headOf(text)}` : headOf(text));
}

/** A test may take longer than a cell of the agent. */
const MIN_LIMIT_MS = 5 * 60_000;
const MAX_OUTPUT_CHARS = 250;

/**
 * Runs the program of a person that tests a goal, as a cell of the sandbox. It has a namespace of its own, which is
 * empty before and gone after it, and reads the agent's files. It calls no command, changes no file and reaches no
 * network. It passes when it ends without an error and with exit code 0.
 */
async function runProgram(
  code: string,
  { workspace, signal }: CommandContext,
  { agentId, nextVersion, clock, cells }: GoalTestParts,
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
  return describeOutcome(await cells.sandbox.run(cell, openReadingBridge(workspace), signal), timeLimitMs);
}

const openReadingBridge = (workspace: CommandContext["workspace"]): CellBridge => ({
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

function describeProblem({ kind, type, message, line, source }: CellProblem, timeLimitMs: number): string {
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

/** A longer file of JSON would hold up all agents while it is parsed, and could take their memory. */
const MAX_JSON_BYTES = 4 * 1024 * 1024;
const MAX_LINE_CHARS = 120;

async function findFile({ path }: TestOf<"file">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  return found ? passes(`${found.path} has ${formatSize(found.bytes)}.`) : missing(path);
}

async function findText({ path, text }: TestOf<"contains">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  const content = await readText(found, workspace);
  const at = content.indexOf(text);
  if (at < 0) return fails(`${describe(found)} does not contain that text. Write it there, letter for letter.`);
  const start = content.lastIndexOf("\n", at - 1) + 1;
  const [line = ""] = content.slice(Math.max(start, at - MAX_LINE_CHARS)).split("\n", 1);
  return passes(
    `Line ${countLines(content, at)} of ${found.path} has it: ${JSON.stringify(oneLine(line, 2 * MAX_LINE_CHARS))}`,
  );
}

function countLines(content: string, place: number): number {
  let lines = 1;
  for (let next = content.indexOf("\n"); next >= 0 && next < place; next = content.indexOf("\n", next + 1)) lines++;
  return lines;
}

/** White space at both ends does not count. */
async function checkLength({ path, min }: TestOf<"length">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  const content = (await readText(found, workspace)).trim();
  const pairs = content.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0;
  const has = `${found.path} has ${countNoun(content.length - pairs, "character")}`;
  return content.length - pairs >= min
    ? passes(`${has}.`)
    : fails(`${has}; expected at least ${min}, without white space at both ends. Write more.`);
}

async function matchSchema({ path, schema }: TestOf<"schema">, workspace: Workspace): Promise<Verdict> {
  const found = await workspace.stat(path);
  if (!found) return missing(path);
  if (found.bytes > MAX_JSON_BYTES)
    return fails(`${describe(found)} is too long to be checked: at most ${formatSize(MAX_JSON_BYTES)}. Shorten it.`);
  const content = await readText(found, workspace);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    return fails(`${describe(found)} is not JSON: ${toError(error).message}. Write it as JSON, and nothing else.`);
  }
  const { problem, isOfSchema } = checkDocument(schema, value);
  if (problem === undefined) return passes(`${describe(found)} matches the schema.`);
  if (isOfSchema) return fails(`The schema of this check cannot be used, and a person has to correct it: ${problem}`);
  return fails(`${found.path} does not match the schema: ${problem} Correct it.`);
}

const missing = (path: string): Verdict => fails(`There is no file ${JSON.stringify(path)}. Write it.`);
const describe = ({ path, bytes }: FileStat): string => `${path} (${formatSize(bytes)})`;

/** Without the mark at the beginning of a file. */
const readText = async ({ path }: FileStat, workspace: Workspace): Promise<string> =>
  new TextDecoder().decode(await workspace.read(path));

type Verdict = Omit<CheckResult, "check">;

const passes = (proof: string): Verdict => ({ isPassed: true, proof: toProof(proof) });
const fails = (reason: string): Verdict => ({ isPassed: false, proof: toProof(reason) });

const toProof = (text: string): string => oneLine(clean(text).toWellFormed(), MAX_PROOF_CHARS);
