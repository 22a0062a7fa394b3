/**
 * test.ts -- `goald test`: runs the agents of files in temporary homes, and prints what came of their checks. All files
 * are read before the first agent runs, so that a wrong one costs nothing.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { printNote } from "#cli/terminal/print.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { type AgentDraft, validateAgent } from "#config/agent-spec.ts";
import { EXIT, GoaldError, isGoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { type AgentState, initialState, isAwaitingPerson, isOver } from "#core/state.ts";
import { countNoun } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { canonicalJson } from "#util/json.ts";
import { clean } from "#util/outside-text.ts";
import { redactJson } from "#util/redact.ts";
import { countChecks, describeCheckView, describeCounts, viewChecks } from "#views/agent-details.ts";
import { requireServer } from "../connect.ts";
import { type CliContext, formatCall, makeTemporaryHome, openContext } from "../context.ts";
import { followAgent, Interrupts } from "../follow-agent.ts";
import { openPrivateHost } from "../open-host.ts";
import { playCassette, readPlayable, withoutOwnSecrets } from "../play-recording.ts";
import { describeSpent, exitCodeOf, openScreen, outcomeOf, spentOf } from "../result.ts";
import { flagsOf, newSettings, RUN_OPTIONS } from "../run-options.ts";
import { defineVerb, EXIT_MEANINGS, flag, type OptionValues, usageError, values } from "../verb.ts";
import { quoteForShell, shellWord } from "../verb-list.ts";

const { continuous: _continuous, continuousLimit: _limit, record: _record, ...SHARED } = RUN_OPTIONS;
const OPTIONS = {
  replay: values(
    "--replay <recording>",
    "play this recording offline instead of asking a model; one per file, in order",
  ),
  record: values("--record <recording>", "record the run into this new file, for --replay; one per file, in order"),
  keep: flag("--keep", "keep the temporary homes, and print where they are"),
  ...SHARED,
};
type TestOptions = OptionValues<typeof OPTIONS>;

export const verb = defineVerb({
  description:
    "run the agents of files in temporary homes, without asking and within the limits of unattended runs, and print each check with its proof. Commands, prompts and settings are those of the present home; its agents, files and memories are not touched",
  examples: [
    "goald test agent.yaml",
    "goald test agent.yaml --record agent.ndjson",
    "goald test agent.yaml --replay agent.ndjson --json",
    "goald test agents/*.yaml --max-steps 30 --budget 1",
  ],
  arguments: [{ name: "<files...>", about: "agent files with ai_checks" }],
  options: OPTIONS,
  exitCodes: {
    ok: "all agents finished, and all checks passed",
    error: "a recording does not fit, or goald failed",
    usage: "wrong call, or a file without checks",
    notFound: "no such file",
    keyMissing: EXIT_MEANINGS.keyMissing,
    limit: EXIT_MEANINGS.limit,
    notReached: "a check failed, or the agent ended without reaching its goals",
    waitsForHuman: "the agent waits for a person",
    interrupted: EXIT_MEANINGS.interrupted,
  },
  run: async (files, options) => {
    using interrupts = new Interrupts();
    using context = await openContext({ ...options, input: false, revives: false }, flagsOf(options));
    const tests = await readTests(files, options);
    if (!options.replay) requireServer(context);
    const results: TestResult[] = [];
    for (const test of tests) {
      if (!context.output.json) context.output.say(clean(`${test.file}: ${test.agent.name}`));
      const result = await testAgent(test, context, options, interrupts);
      results.push(result);
      print(result, context);
      if (test.record !== undefined && result.outcome !== "error")
        context.output.say(clean(`Recorded: ${test.record}`));
      if (interrupts.isInterrupted) return EXIT.interrupted;
    }
    const passed = results.filter(({ isPassed }) => isPassed);
    if (tests.length > 1) context.output.say(`\n${passed.length} of ${countNoun(tests.length, "test")} passed.`);
    return results.find(({ isPassed }) => !isPassed)?.exitCode ?? EXIT.ok;
  },
});

async function readTests(files: readonly string[], { replay, record }: TestOptions): Promise<readonly AgentTest[]> {
  if (replay && record) throw usageError("--record and --replay say different things.", "Leave one of the two out.");
  for (const [name, given] of Object.entries({ replay, record }))
    if (given && given.length !== files.length)
      throw usageError(
        `Expected one --${name} per file, got ${given.length} for ${countNoun(files.length, "file")}.`,
        "Name the recordings in the order of the files.",
      );
  const taken = record?.find(
    (path, at) => existsSync(path) || record.map((one) => resolve(one)).indexOf(resolve(path)) < at,
  );
  if (taken !== undefined)
    throw usageError(
      `The recording ${taken} is there already, or named twice; nothing writes over it.`,
      "Remove it first, or name a new file for each test.",
    );
  const tests: AgentTest[] = [];
  for (const [index, file] of files.entries()) {
    const { notes, ...given } = await readAgentFile(file);
    for (const note of notes) printNote(`${file}: ${note}`);
    const agent = await Promise.try(validateAgent, given).catch(({ message }: Error) => {
      throw usageError(`${file}: ${message}`);
    });
    if (!agent.checks) throw usageError(`${file} has no ai_checks, so there is nothing to test.`, EXAMPLE);
    tests.push({ file, agent, replay: replay?.[index], record: record?.[index] });
  }
  return tests;
}

const EXAMPLE = "Add checks, such as:\n  ai_checks:\n    - {file: plan.md, contains: Conclusion, min_chars: 400}";

function print(tested: TestResult, { output, redact }: CliContext): void {
  const { file, agent, isPassed, outcome, checks, state, exitCode, home } = tested;
  const reason = home === null && outcome !== "error" ? withoutCalls(tested.reason) : tested.reason;
  const spent = spentOf(state);
  const result = { type: "test", file, agent, passed: isPassed, outcome, reason, checks, ...spent, exitCode, home };
  if (output.printJson(result, redact)) return;
  const end = `The agent ended (${outcome})${reason === "" ? "." : `: ${reason}`}`;
  const keep = home === null ? " To look at it afterwards, add --keep." : "";
  const lines = [
    "",
    ...checks.map(
      (check) => `Check${check.goal === null ? "" : ` of goal ${check.goal + 1}`} ${describeCheckView(check)}`,
    ),
    ...(outcome === "error"
      ? [`Not tested: ${file}. ${reason}`]
      : [
          `${isPassed ? "Passed" : "Not passed"}: ${file} (checks: ${describeCounts(countChecks(checks))}). ${describeSpent(state)}.`,
        ]),
    ...(isPassed || outcome === "error" ? [] : [end + keep]),
    ...(home === null ? [] : [`Kept: ${home} (goald ps --home ${quoteForShell(home)})`]),
  ];
  output.data(redact(clean(lines.join("\n"))));
}

/** Cuts the sentences with calls of goald off: in a home that is removed no agent can go on. */
function withoutCalls(reason: string): string {
  const [first = "", ...more] = reason.split(/(?<=[.!?])\s+/);
  const call = more.findIndex((sentence) => /\bgoald (?:goals|logs|resume|say) /.test(sentence));
  return [first, ...more.slice(0, call < 0 ? undefined : call)].join(" ");
}

interface AgentTest {
  /** As it was named. */
  readonly file: string;
  readonly agent: AgentDraft;
  /** Recording to play instead of asking a model. */
  readonly replay: string | undefined;
  /** New file for a recording of the run. */
  readonly record: string | undefined;
}

type TestResult = Awaited<ReturnType<typeof testAgent>>;

/**
 * Runs the agent of one file in a temporary home, with a model or by a recording, and reports its checks. The home has
 * the commands, methods, prompts and settings of the present one, and none of its agents, files and memories. An error
 * of goald is its outcome. `home`: the temporary home; null when it was removed.
 */
async function testAgent(test: AgentTest, visited: CliContext, options: TestOptions, interrupts: Interrupts) {
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
    const { exitCode, message } = thrown;
    const hint = adviceOn(thrown, test, visited);
    const checks = viewChecks({ checks: test.agent.checks ?? [], proofs: [] });
    const reason = `${message}${hint === "" ? "" : `\n${hint}`}`;
    const failed = { isPassed: false, outcome: "error", reason, checks, state: initialState, exitCode };
    return { file: test.file, agent: test.agent.name, ...failed, home };
  }
}

/** `isPassed`: the agent finished, and all checks passed. */
function resultOf({ file, agent }: AgentTest, state: AgentState, { isInterrupted }: Interrupts, home: string | null) {
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
    ...redactJson(agent, scrub),
    settings: { ...settings, background: false },
    ...(record === undefined ? {} : { record: resolve(record) }),
  });
  const { show: shown } = output.json ? { show: () => undefined } : await openScreen(context, []);
  // The end gives the reason of a pause.
  const showOther = (event: RecordedEvent): void => {
    if (event.type !== "agent-paused") shown(event);
  };
  const show = Object.assign(showOther, shown);
  const following = { context, client, agent: id, after: 0, state: initialState, show, interrupts };
  const { state } = await followAgent({ ...following, ask: undefined, onInterrupt: "pause" });
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
  const cassette = readPlayable(path);
  const playing = { ...withoutOwnSecrets(visited), home: context.home };
  requireSameAgent(test, cassette.sessions[0].start, playing);
  // A replay has no step to finish: it changes nothing outside its home.
  interrupts.listen(() => process.exit(EXIT.interrupted));
  const show = context.output.json ? () => undefined : undefined;
  const { agent, problems } = await playCassette(cassette, playing, visited, show);
  if (problems[0] !== undefined) throw new GoaldError("GOALD_REPLAY", problems[0]);
  if (isOver(agent) || isAwaitingPerson(agent)) return agent;
  throw new GoaldError("GOALD_REPLAY", `${path} ends in step ${agent.step}: the run was cut off.`);
}

function requireSameAgent(
  { agent, file, replay }: AgentTest,
  { given, ...recorded }: Omit<AgentDraft, "checks"> & { readonly given: Pick<AgentDraft, "checks"> },
  { redact }: CliContext,
): void {
  const { name, role, goals, checks = [] } = agent;
  const now: Required<AgentDraft> = redactJson({ name, role, goals, checks }, redact);
  const before = { ...recorded, checks: given.checks ?? [] };
  const other = (["name", "role", "goals", "checks"] as const).find(
    (part) => canonicalJson(now[part]) !== canonicalJson(before[part]),
  );
  if (other !== undefined)
    throw new GoaldError(
      "GOALD_REPLAY",
      `${replay} is a recording of another agent: its ${other} ${other.endsWith("s") ? "differ" : "differs"} from ${file}.`,
    );
}

/** A recording that cannot be played is made again by this verb, not by those that hints of other verbs name. */
function adviceOn({ code, hint }: GoaldError, { file, replay }: AgentTest, { home }: CliContext): string {
  if (replay === undefined || (code !== "GOALD_REPLAY" && code !== "GOALD_FILE_MISSING")) return hint;
  const path = shellWord(replay);
  const again = `Record it: rm -f ${path} && ${formatCall(home, "test", shellWord(file), "--record", path)}`;
  return hint === "" || /goald (?:resume|run) /.test(hint) ? again : `${hint}\n${again}`;
}
