/**
 * test-agent.ts -- runs the agent of one file in a temporary home, with a model or by a recording, and reports its checks.
 *
 * The home has the commands, methods, prompts and settings of the present one, and none of its agents, files and memories.
 */
import { resolve } from "node:path";
import { readCassette } from "#cassette/recording-file.ts";
import type { AgentFile } from "#config/agent-file.ts";
import { EXIT, GoaldError, isGoaldError } from "#core/errors.ts";
import { type AgentState, initialState, isOver } from "#core/state.ts";
import { systemClock } from "#util/clock.ts";
import { canonicalJson } from "#util/json.ts";
import { type CheckView, viewChecks } from "#views/agent-details.ts";
import { withoutSecrets } from "./check-option.ts";
import type { CliContext } from "./context.ts";
import { followAgent } from "./follow-agent.ts";
import type { Interrupts } from "./interrupts.ts";
import { playCassette, requireState, withoutOwnSecrets } from "./play-cassette.ts";
import { openPrivateHost } from "./private-host.ts";
import { exitCodeOf, isAwaitingPerson, openScreen, outcomeOf } from "./result.ts";
import { type GoOptions, newSettings } from "./run-settings.ts";
import { makeTemporaryHome } from "./temporary-home.ts";

export interface TestOptions extends GoOptions {
  /** Keeps the temporary home. */
  readonly keep?: boolean;
}

export interface AgentTest {
  /** As it was named. */
  readonly file: string;
  readonly agent: AgentFile;
  /** Recording to play instead of asking a model. */
  readonly replay: string | undefined;
  /** New file for a recording of the run. */
  readonly record: string | undefined;
}

export interface TestResult {
  readonly file: string;
  readonly agent: string;
  /** The agent finished, and all checks passed. */
  readonly isPassed: boolean;
  readonly outcome: string;
  readonly reason: string;
  readonly checks: readonly CheckView[];
  readonly state: AgentState;
  readonly exitCode: number;
  /** The temporary home; null when it was removed. */
  readonly home: string | null;
}

/** Runs the test. An error of goald is its outcome. */
export async function testAgent(
  test: AgentTest,
  visited: CliContext,
  options: TestOptions,
  interrupts: Interrupts,
): Promise<TestResult> {
  const isKept = options.keep === true;
  await using temporary = await makeTemporaryHome(visited.home, options, { prefix: "goald-test-", isKept });
  const context = { ...visited, home: temporary.home };
  const home = isKept ? temporary.home.root : null;
  try {
    const state =
      test.replay === undefined
        ? await runLive(test, context, options, interrupts)
        : await runRecorded(test, test.replay, context, visited, interrupts);
    return resultOf(test, state, interrupts, home);
  } catch (thrown) {
    if (!isGoaldError(thrown)) throw thrown;
    const { exitCode, code, message, hint } = thrown;
    const { file, agent } = test;
    const checks = viewChecks({ checks: agent.checks ?? [], proofs: [] });
    const reason = `${code}: ${message}${hint === "" ? "" : `\n${hint}`}`;
    const failed = { isPassed: false, outcome: "error", reason, checks, state: initialState, exitCode };
    return { file, agent: agent.name, ...failed, home };
  }
}

function resultOf(
  { file, agent }: AgentTest,
  state: AgentState,
  { isInterrupted }: Interrupts,
  home: string | null,
): TestResult {
  const checks = viewChecks(state);
  const ended = exitCodeOf(state, isInterrupted);
  const haveAllPassed = checks.length > 0 && checks.every(({ isPassed }) => isPassed === true);
  const exitCode = ended === EXIT.ok && !haveAllPassed ? EXIT.notReached : ended;
  return {
    file,
    agent: agent.name,
    isPassed: exitCode === EXIT.ok,
    ...outcomeOf(state),
    checks,
    state,
    exitCode,
    home,
  };
}

async function runLive(
  { agent, record }: AgentTest,
  context: CliContext,
  options: TestOptions,
  interrupts: Interrupts,
): Promise<AgentState> {
  const { scrub, output } = context;
  await using opened = await openPrivateHost(context);
  if (interrupts.isInterrupted) return initialState;
  const { client, host } = opened;
  const settings = await newSettings(context, options, systemClock.now(), { approve: "never", unattended: true });
  const { id } = await client.create({
    ...{ name: agent.name, role: scrub(agent.role), goals: agent.goals.map(scrub) },
    checks: withoutSecrets(agent.checks ?? [], scrub),
    settings: { ...settings, background: false },
    ...(record === undefined ? {} : { record: resolve(record) }),
  });
  const { show } = output.json ? { show: () => undefined } : await openScreen(context, []);
  const following = { context, client, agent: id, after: 0, state: initialState, show, interrupts };
  const asking = { ask: undefined, askWords: undefined, onInterrupt: "pause" } as const;
  const isEnd = (now: AgentState): boolean => isOver(now) || isAwaitingPerson(now);
  const { state } = await followAgent({ ...following, ...asking, isEnd });
  // The end of a recording is written after the last event.
  await host.supervisor.runners.get(id)?.settled();
  return state;
}

async function runRecorded(
  test: AgentTest,
  path: string,
  context: CliContext,
  visited: CliContext,
  interrupts: Interrupts,
): Promise<AgentState> {
  const cassette = readCassette(resolve(path));
  requireState(cassette);
  const playing = { ...withoutOwnSecrets(visited), home: context.home };
  requireSameAgent(test, cassette.sessions[0].start, playing);
  // A replay has no step to finish: it changes nothing outside its home.
  interrupts.listen(() => process.exit(EXIT.interrupted));
  const played = await playCassette(cassette, playing, visited, context.output.json ? () => undefined : undefined);
  const [problem] = played.problems;
  if (problem !== undefined) throw new GoaldError("GOALD_REPLAY", problem, { hint: recordAgain(test, path) });
  return played.agent;
}

type Described = Pick<AgentFile, "name" | "role" | "goals" | "checks">;

function requireSameAgent(
  test: AgentTest,
  { given, ...recorded }: Pick<Described, "name" | "role" | "goals"> & { readonly given: Partial<Described> },
  { redact }: CliContext,
): void {
  const { name, role, goals, checks = [] } = test.agent;
  const now: Required<Described> = JSON.parse(redact(JSON.stringify({ name, role, goals, checks })));
  const before = { ...recorded, checks: given.checks ?? [] };
  const other = (["name", "role", "goals", "checks"] as const).find(
    (part) => canonicalJson(now[part]) !== canonicalJson(before[part]),
  );
  if (other === undefined) return;
  const path = String(test.replay);
  throw new GoaldError(
    "GOALD_REPLAY",
    `${path} is a recording of another agent: its ${other} differ from ${test.file}.`,
    {
      hint: recordAgain(test, path),
    },
  );
}

const recordAgain = ({ file }: AgentTest, path: string): string =>
  `Record it again: rm ${path} && goald test ${file} --record ${path}`;
