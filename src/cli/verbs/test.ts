/**
 * test.ts -- `goald test`: runs the agents of files in temporary homes, and prints what came of their checks.
 *
 * All files are read before the first agent runs, so that a wrong one costs nothing.
 */
import { readAgentFile } from "#config/agent-file.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { countChecks, describeCheckView, describeCounts } from "#views/agent-details.ts";
import { dollars } from "#views/agent-view.ts";
import { flag, texts } from "../option.ts";
import { requireServer } from "../shared/connect.ts";
import { type CliContext, openContext } from "../shared/context.ts";
import { Interrupts } from "../shared/interrupts.ts";
import { quoteForShell } from "../shared/own-calls.ts";
import { RUN_OPTIONS } from "../shared/run-options.ts";
import { flagsOf } from "../shared/run-settings.ts";
import { type AgentTest, type TestOptions, type TestResult, testAgent } from "../shared/test-agent.ts";
import { defineVerb, EXIT_MEANINGS } from "../verb.ts";

const { maxSteps, maxTokens, budget, maxTime, model, form, plan, commands } = RUN_OPTIONS;

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
  options: {
    replay: texts(
      "--replay <recording>",
      "play this recording offline instead of asking a model; one per file, in order",
    ),
    record: texts("--record <recording>", "record the run into this new file, for --replay; one per file, in order"),
    keep: flag("--keep", "keep the temporary homes, and print where they are"),
    ...{ maxSteps, maxTokens, budget, maxTime, model, form, plan, commands },
  },
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
  run: (files, options) => testVerb(files, options),
});

export interface TestVerbOptions extends TestOptions {
  readonly replay?: readonly string[];
  readonly record?: readonly string[];
}

/** Resolves to the exit code of the first test that did not pass. */
export async function testVerb(files: readonly string[], options: TestVerbOptions): Promise<number> {
  using interrupts = new Interrupts();
  const context = await openContext({ ...options, input: false, revives: false }, flagsOf(options));
  try {
    const tests = await readTests(files, options);
    if (!options.replay) requireServer(context);
    const results: TestResult[] = [];
    for (const test of tests) {
      if (!context.output.json) context.output.say(clean(`${test.file}: ${test.agent.name}`));
      const result = await testAgent(test, context, options, interrupts);
      results.push(result);
      print(result, context);
      if (test.record !== undefined) context.output.say(clean(`Recorded: ${test.record}`));
      if (interrupts.isInterrupted) return EXIT.interrupted;
    }
    if (tests.length > 1) context.output.say(`\n${countPassed(results)}.`);
    return results.find(({ isPassed }) => !isPassed)?.exitCode ?? EXIT.ok;
  } finally {
    context.output.close();
  }
}

async function readTests(files: readonly string[], { replay, record }: TestVerbOptions): Promise<readonly AgentTest[]> {
  if (replay && record) throw usage("--record and --replay say different things.", "Leave one of the two out.");
  for (const [name, given] of Object.entries({ replay, record }))
    if (given && given.length !== files.length)
      throw usage(
        `Expected one --${name} per file, got ${given.length} for ${countNoun(files.length, "file")}.`,
        "Name the recordings in the order of the files.",
      );
  const tests: AgentTest[] = [];
  for (const [index, file] of files.entries()) {
    const { notes, ...given } = await readAgentFile(file);
    const agent = { ...validateAgent(given), notes };
    if (!agent.checks) throw usage(`${file} has no ai_checks, so there is nothing to test.`, EXAMPLE);
    tests.push({ file, agent, replay: replay?.[index], record: record?.[index] });
  }
  return tests;
}

const EXAMPLE = "Add checks, such as:\n  ai_checks:\n    - {file: plan.md, contains: Conclusion, min_chars: 400}";

function print(result: TestResult, { output, redact }: CliContext): void {
  const { file, agent, isPassed, outcome, reason, checks, state, exitCode, home } = result;
  const { inputTokens: input, outputTokens: out, cachedTokens: cached, estimated } = state.usage;
  const costUsd = Math.round(state.costUsd * 1e6) / 1e6;
  if (output.json) {
    const spent = { step: state.step, tokens: { input, output: out, cached, estimated }, costUsd };
    const line = { type: "test", file, agent, passed: isPassed, outcome, reason, checks, ...spent, exitCode, home };
    output.data(redact(JSON.stringify(line)));
    return;
  }
  const spent = `${countNoun(state.step, "step")}, ${input} tokens in and ${out} out${costUsd > 0 ? `, ${dollars(costUsd)}` : ""}`;
  const lines = [
    "",
    ...checks.map(
      (check) => `Check${check.goal === null ? "" : ` of goal ${check.goal + 1}`} ${describeCheckView(check)}`,
    ),
    ...(outcome === "error"
      ? [`Not tested: ${file}. ${reason}`]
      : [`${isPassed ? "Passed" : "Not passed"}: ${file} (checks: ${describeCounts(countChecks(checks))}). ${spent}.`]),
    ...(isPassed || outcome === "error" ? [] : [describeEnd(outcome, reason, home)]),
    ...(home === null ? [] : [`Kept: ${home} (goald ps --home ${quoteForShell(home)})`]),
  ];
  output.data(redact(clean(lines.join("\n"))));
}

/** The further sentences of a reason are about an agent that can go on, which one in a removed home cannot. */
function describeEnd(outcome: string, reason: string, home: string | null): string {
  if (home !== null) return `The agent ended (${outcome}): ${reason}`;
  const [first = ""] = /^.*?[.!?](?=\s|$)/s.exec(reason) ?? [];
  return `The agent ended (${outcome})${first === "" ? "." : `: ${first}`} To look at it afterwards, add --keep.`;
}

const countPassed = (results: readonly TestResult[]): string =>
  `${results.filter(({ isPassed }) => isPassed).length} of ${countNoun(results.length, "test")} passed`;

const usage = (message: string, hint: string): GoaldError => new GoaldError("GOALD_USAGE", message, { hint });
