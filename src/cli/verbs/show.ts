/**
 * show.ts -- `goald show`: one agent in full (goals, state, cost, limits, files), one step of it, its report, or its
 * files. The report is rendered from the store; the same text is in the agent's folder as `_goald/report.md`.
 */

import { localTime, paint, renderTable, shortSpan } from "#cli/terminal/print.ts";
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import { describeReceived } from "#core/provenance.ts";
import { countNoun, withCommas } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import type { Redact } from "#util/redact.ts";
import { type AgentDetails, describeCheckView } from "#views/agent-details.ts";
import { describeLimit, dollars } from "#views/agent-view.ts";
import type { FileList } from "#views/file-versions.ts";
import { NEXT_HEADING, renderReport } from "#views/report.ts";
import type { ReportFacts } from "#views/report-facts.ts";
import { describeStep, describeUsage } from "#views/step-text.ts";
import { type WaitingView, waitingToJson } from "#views/waiting.ts";
import { reading } from "../agents.ts";
import { type CliContext, callsHere, printValue } from "../context.ts";
import { describeApproval, styleOfDiff } from "../terminal/describe-call.ts";
import { AGENT, defineVerb, flag, step, usageError } from "../verb.ts";

export const verb = defineVerb({
  description: "show an agent's goals, state, cost and files; or one step of it, its report, or all its files",
  examples: [
    "goald show chef",
    "goald show chef --step 3",
    "goald show chef --report > chef.md",
    "goald show chef --files --json",
  ],
  arguments: [AGENT],
  options: {
    step: step(
      "--step <number>",
      "show this step: prompt, recalls, reply, command, the calls inside it, result, files",
    ),
    report: flag("--report", "show what it did, as Markdown: goals, files, sources, failures, cost, next steps"),
    files: flag("--files", "list the files that it wrote, and in which step"),
  },
  exitCodes: { notFound: "no such agent or step" },
  run: async ([agent = ""], { step, report, files, ...options }) => {
    if ([step !== undefined, report, files].filter(Boolean).length > 1)
      throw usageError("--step, --report and --files each show something else", "Use one of them in a call.");
    return reading(options, async (reading, context) => {
      if (report) return showReport(await reading.report(agent), context);
      if (files) return showFiles(await reading.files(agent), context);
      if (step !== undefined) {
        const whole = await reading.step(agent, step);
        return printValue(context, whole, () => describeStep(whole), { isExact: () => true });
      }
      const details = await reading.details(agent);
      const { next: _next, ...shown } = details;
      if (context.output.json) context.output.data(waitingToJson(shown, context));
      else context.output.page(describe(details, context), LOOK);
      return EXIT.ok;
    });
  },
});

/** Goals and files are indented already; other lines have a label, but the first. */
const indentOf = (line: string): number => (line.startsWith(" ") ? 5 : /^[A-Z][a-z ]{3,9}: /.test(line) ? 12 : 2);
const LOOK = { indentOf, styleOf: styleOfDiff, isExact: (line: string) => /^(?:Wants: | {12})/.test(line) };

function showReport(facts: ReportFacts, { output, redact, home }: CliContext): number {
  const text = redact(output.json ? JSON.stringify(facts) : withCallsHere(renderReport(facts).trimEnd(), home));
  if (output.write) output.page(readMarkdown(clean(text), output.colour));
  else output.data(text);
  return EXIT.ok;
}

/** The Markdown of reports as a person reads it on a terminal. */
export const readMarkdown = (text: string, colour: boolean): string =>
  text
    .split("\n")
    .map((line) => {
      const [, heading] = /^#{1,6} (.*)$/.exec(line) ?? [];
      const words = (heading ?? line.replace(/^(\s*)> ?/, "$1│ "))
        // In one pass: a mark that is escaped, or in code, is one of the text.
        .replace(
          /\\([!-/:-@[-`{-~])|\*\*([^*]+)\*\*|(`+) ?(.+?) ?\3/g,
          (_all, mark, strong, _ticks, code) => mark ?? paint(colour, strong ? "bold" : "cyan", strong ?? code),
        );
      return heading === undefined ? words : paint(colour, "bold", words);
    })
    .join("\n");

/** Completes calls only in the last part, because earlier parts may contain a model's text. */
function withCallsHere(text: string, home: Home): string {
  const at = text.lastIndexOf(NEXT_HEADING);
  return text.slice(0, at) + callsHere(home, text.slice(at));
}

function showFiles(list: FileList, { output }: CliContext): number {
  if (output.printJson(list)) return EXIT.ok;
  const lines = list.files.map(({ path, operation, by, step, bytes, changes, at }) => [
    clean(path),
    by === "person" ? `${operation} by a person` : operation,
    `${step}`,
    `${bytes}`,
    `${changes}`,
    Number.isFinite(output.columns) ? localTime(at, systemClock.now()) : at,
  ]);
  output.page(`Workspace: ${list.workspace}`);
  if (lines.length === 0) output.say("No file was written yet.");
  else output.data(renderTable(["FILE", "LAST", "STEP", "BYTES", "CHANGES", "AT"], lines, output.columns));
  return EXIT.ok;
}

function describe(agent: AgentDetails, { home, redact, scrub }: CliContext): string {
  const { waiting } = agent;
  const asked = waiting && describeWaiting(waiting);
  const { tokens, usd } = agent.lost;
  const more = usd > 0 ? dollars(usd) : `${withCommas(tokens)} tokens`;
  const lost = tokens > 0 ? `, perhaps ${more} more for calls without an end` : "";
  const lines = [
    `${agent.name} (${agent.id}), ${agent.role}`,
    ...agent.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    ...agent.checks.map(
      (check) => `Check:      ${describeCheckView(check)}${check.goal === null ? "" : ` (goal ${check.goal + 1})`}`,
    ),
    `State:      ${agent.state}${agent.reason && agent.state !== "waiting: approval" ? ` (${reasonOf(agent)})` : ""}`,
    ...(asked === null ? [] : [asked]),
    ...(agent.stalledMs === null ? [] : [`Stalled:    nothing has happened for ${shortSpan(agent.stalledMs)}`]),
    `Steps:      ${agent.step}, ${withCommas(agent.tokens)} tokens`,
    `Turn:       ${agent.turn}`,
    ...(agent.parent === null ? [] : [`Started by: ${agent.parent}`]),
    ...agent.agents.map(({ id, state: standing, step }) => `Agent:      ${id}, ${standing}, at step ${step}`),
    `Cost:       ${dollars(agent.costUsd)}, ${describeUsage(agent.usage)}${lost}`,
    ...agent.limits.map((limit) => `Limit:      ${describeLimit(limit)}`),
    ...(agent.received.length > 0 ? [`Outside:    it has read words from ${describeReceived(agent.received, 5)}`] : []),
    ...agent.trusted.map(({ path, at }) => `Trusted:    ${path ?? "all that it had read"}, by a person at ${at}`),
    ...(agent.lastThought ? [`Thought:    ${agent.lastThought}`] : []),
    ...agent.next.todo.map(({ text, command }) => `Next:       ${text}: ${callsHere(home, command)}`),
    `Workspace:  ${agent.workspace}`,
    ...agent.files.map(({ path, bytes, step }) => `  ${path} (${countNoun(bytes, "byte")}, step ${step})`),
  ];
  // A person approves the call as it would run.
  const redactorOf = (line: string): Redact => (line === asked && waiting?.kind === "approval" ? scrub : redact);
  return lines.map((line) => redactorOf(line)(clean(line))).join("\n");
}

/** The end of a pause's reason: what to do, with the calls that `Next` lists. */
const ADVICE = / (?:Allow more|See what|Tell) \S.*\bgoald .*$/s;

const reasonOf = ({ standing, reason }: AgentDetails): string | null =>
  standing.kind === "paused" && reason !== null ? reason.replace(ADVICE, "") : reason;

const describeWaiting = (waiting: WaitingView): string =>
  waiting.kind === "question"
    ? `Question:   ${waiting.question}`.replaceAll("\n", "\n            ")
    : `Wants:      ${describeApproval(waiting).join("\n            ")}`;
