/**
 * report.ts -- renders `_goald/report.md`: an agent's work, for a person who was away. Pure.
 *
 * goald judges goals by their checks only: the report has their results, quotes the agent and lists files, sources,
 * failures, cost and next steps. Text from outside is escaped. At most 64 KB: each part has a share and
 * counts what it omits.
 */
import { describeReceived, listSources } from "#core/provenance.ts";
import { countNoun, oneLine, withCommas } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { describeCheckView } from "./agent-details.ts";
import { describeLimit, dollars } from "./agent-view.ts";
import type { ReportFacts } from "./report-facts.ts";
import type { Trouble } from "./sources.ts";

type Source = ReportFacts["sources"][number];

/** Bytes per list. The whole report stays below 64 KB. */
const SHARE = { turns: 5_000, checks: 8_000, files: 20_000, sources: 12_000, troubles: 10_000 } as const;

/** Heading of the last part, which contains only goald's own words. */
export const NEXT_HEADING = "## What to do next";

export function renderReport(facts: ReportFacts): string {
  const parts = [
    `# ${inline(facts.name, 100)}: report`,
    renderOpening(facts),
    `## Goals\n\n${renderGoals(facts)}`,
    `## Files\n\n${renderFiles(facts)}`,
    `## Sources\n\n${renderSources(facts)}`,
    `## Failures\n\n${renderTroubles(facts)}`,
    `## Cost\n\n${renderCost(facts)}`,
    `${NEXT_HEADING}\n\n${renderNextSteps(facts)}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

function renderOpening(facts: ReportFacts): string {
  const { name, id, role, state, next, received, step, since, events, createdAt, lastEventAt } = facts;
  const lines = [
    `${inline(name, 100)} (${code(id, 100)}) is ${inline(role, 600) || "an agent without a role"}.`,
    "",
    `- State: **${inline(state, 60)}**. ${next.why}`,
    ...(facts.reason ? [`- Reason: ${inline(facts.reason, 600)}`] : []),
    ...(received.length > 0 ? [`- Outside words: ${inline(describeReceived(received, 5), 600)}`] : []),
    `- ${countNoun(step, "step")}, from ${createdAt} to ${lastEventAt} (the last event)`,
    ...(since > 0 ? [`- Files, sources, failures and turns below are those of its last ${events - since} events`] : []),
  ];
  return lines.join("\n");
}

function renderGoals(facts: ReportFacts): string {
  const { goals, checks, closing, lastThought, turns, files } = facts;
  const listed = goals.map((goal, index) => renderGoal(goal, index, facts));
  const ofAll = renderChecks(null, "", facts);
  const lines = [
    listed.length > 0 ? listed.join("\n") : "It has no goals.",
    ...(ofAll === "" ? [] : [`Checks of all goals together:\n\n${ofAll}`]),
    ...(checks.length > 0 ? ["The checks run when the agent reports its goals as reached."] : []),
    ...describeUnchecked(facts),
  ];
  if (closing !== "") {
    const named = findNamedFiles(
      closing,
      files.map(({ path }) => path),
    );
    lines.push(`### Its closing words\n\n${quote(closing, 4_000)}`);
    lines.push(
      named.length > 0 ? `These words name existing files: ${codeList(named)}.` : `These words name ${noFile(facts)}.`,
    );
  } else if (lastThought !== "") lines.push(`### Its last thought\n\n${quote(lastThought, 1_000)}`);
  const earlier = closing !== "" ? turns.slice(0, -1) : turns;
  if (earlier.length > 0) {
    const rows = earlier.map(({ turn, at, reason }) => `- Turn ${turn}, ${at}: ${inline(reason, 400)}`);
    lines.push(`### Earlier turns\n\n${fitLines(rows, SHARE.turns, "turns")}`);
  }
  return lines.join("\n\n");
}

function renderGoal(goal: string, index: number, facts: ReportFacts): string {
  const steps = new Map(facts.files.map(({ path, step }) => [path, step]));
  const found = findNamedFiles(goal, [...steps.keys()]).map((path) => `${code(path, 300)} (step ${steps.get(path)})`);
  const evidence = `it names ${found.length > 0 ? found.join(", ") : noFile(facts)}`;
  const checks = renderChecks(index, "   ", facts);
  return `${index + 1}. ${inline(goal, 1_000)}\n   - Evidence: ${evidence}${checks === "" ? "" : `\n${checks}`}`;
}

/** Older files are not looked at. */
const noFile = ({ since }: ReportFacts): string =>
  since > 0 ? "no file of the last changed ones" : "no existing file";

function renderChecks(goal: number | null, indent: string, { goals, checks }: ReportFacts): string {
  const rows = checks
    .filter((check) => check.goal === goal)
    .map((check) => `${indent}- Check ${inline(describeCheckView(check), 600)}`);
  return fitLines(rows, SHARE.checks / (goals.length + 1), "checks", indent);
}

/** goald judges goals only by the checks that a person gave. */
function describeUnchecked({ goals, checks }: ReportFacts): readonly string[] {
  const isCovered = (index: number): boolean => checks.some(({ goal }) => goal === null || goal === index);
  const numbers = goals.flatMap((_goal, index) => (isCovered(index) ? [] : [`${index + 1}`]));
  if (numbers.length === 0) return [];
  const look = "check the files and the agent's own words.";
  if (checks.length === 0) return [`goald does not judge whether a goal is reached: ${look}`];
  const [which, what] =
    numbers.length === 1
      ? [`Goal ${numbers[0]} has no check`, "it is reached"]
      : [`Goals ${numbers.join(", ")} have no checks`, "they are reached"];
  return [`${which}, so goald does not judge whether ${what}: ${look}`];
}

function renderFiles({ id, files, since, workspace, step }: ReportFacts): string {
  const all = `all files: ${code(`goald show ${id} --files`, 300)}.`;
  const folder = code(workspace, 1_000);
  if (files.length === 0)
    return since > 0
      ? `No file in ${folder} changed; ${all}`
      : `The folder ${folder} contains no file of this agent.${step === 0 ? " It has not taken a step yet." : ""}`;
  const count = countNoun(files.length, "file");
  const listed = since > 0 ? `The last changed ${count} in ${folder}; ${all}` : `${count} in ${folder}.`;
  return `${listed}\n\n${fitLines(files.map(fileLine), SHARE.files, "files")}`;
}

const fileLine = ({ path, bytes, step, at, by }: ReportFacts["files"][number]): string =>
  `- ${code(path, 900)}: ${countNoun(bytes, "byte")}, ${by === "person" ? "changed by a person, found" : "by the agent"} in step ${step}, ${at}`;

function renderSources({ sources }: ReportFacts): string {
  if (sources.length === 0) return "It read no files, pages or messages.";
  return `The newest first:\n\n${fitLines(sources.toReversed().map(sourceLine), SHARE.sources, "sources")}`;
}

function sourceLine({ kind, what, command, step, at, times, outside, kept, answer }: Source): string {
  const often = times === 1 ? "" : `, ${times} times`;
  if (kind === "person" && command === null) return `- A person, in step ${step}${often}, ${at}: ${inline(what, 200)}`;
  const by = command === null ? "" : ` by ${code(command, 60)}`;
  const whose = outside.length > 0 ? `: ${code(listSources(outside), 200)}` : "";
  const where = kept.length > 0 ? `, kept in ${codeList(kept.slice(0, 3))}` : "";
  const said = answer === "" ? "" : `: ${inline(answer, 120)}`;
  // A path or an address is shown whole; of code and queries the beginning tells which it was.
  const shown = code(what, /\s/.test(what) ? 80 : 200);
  return `- ${shown}${by} (${kind}${whose})${where}, last in step ${step}${often}, ${at}${said}`;
}

function renderTroubles({ troubles, lastTroubles }: ReportFacts): string {
  const counts = Object.entries(troubles);
  if (counts.length === 0) return "None.";
  const sums = counts.map(([kind, times]) => `${COUNTED[kind as Trouble["kind"]]}: ${times}`);
  const rows = lastTroubles.toReversed().map(({ kind, step, at, what, reason }) => {
    const about = what === "" ? "" : ` ${code(what, /\s\S*\s/.test(what) ? 80 : 200)}`;
    return `- Step ${step}, ${at}, ${kind}:${about} ${inline(reason, 300)}`;
  });
  return `${sums.join(" · ")}\n\nThe newest first:\n\n${fitLines(rows, SHARE.troubles, "of the newest")}`;
}

const COUNTED: Readonly<Record<Trouble["kind"], string>> = {
  failed: "Failed commands",
  denied: "Denied commands",
  cancelled: "Cancelled commands",
  unknown: "Commands with an unknown outcome",
  "bad reply": "Replies that could not be parsed",
  "no reply": "Model calls without a reply",
  interrupted: "Commands interrupted by a crash",
  repeated: "Warnings about repeated commands",
};

function renderCost({ step, usage, costUsd, hasUnpriced, lost, helpers, limits }: ReportFacts): string {
  const { modelCalls, inputTokens, outputTokens, cachedTokens, estimated } = usage;
  const cached = cachedTokens > 0 ? ` (${withCommas(cachedTokens)} of them cached)` : "";
  const unpriced = hasUnpriced ? ", without replies of models that have no known price" : "";
  const isUnknown = hasUnpriced && costUsd === 0;
  const inAddition = `${countNoun(helpers.steps, "step")}, ${withCommas(helpers.tokens)} tokens, ${dollars(helpers.usd)}`;
  const unseen = `${withCommas(lost.tokens)} tokens, ${dollars(lost.usd)}`;
  const lines = [
    `- ${countNoun(step, "step")}, ${countNoun(modelCalls, "request")} to the model`,
    `- ${estimated ? "about " : ""}${withCommas(inputTokens)} tokens in${cached}, ${withCommas(outputTokens)} out`,
    `- ${isUnknown ? "Cost unknown: the model has no known price" : `${dollars(costUsd)}${unpriced}`}`,
    ...(helpers.agents > 0 || helpers.steps > 0 ? [`- In addition, its sub-agents: ${inAddition}`] : []),
    ...(lost.tokens > 0 ? [`- Possibly charged in addition, for calls without a known end: up to ${unseen}`] : []),
    ...limits.map((limit) => `- Limit: ${describeLimit(limit)}`),
  ];
  return lines.join("\n");
}

function renderNextSteps({ id, next, workspace }: ReportFacts): string {
  const lines = [
    ...next.todo.map(({ text, command }) => `- ${text}: ${code(command, 300)}`),
    `- See why a file exists: ${code(`goald why ${id} FILE`, 300)}; what a step changed: ${code(`goald diff ${id} --to N`, 300)}`,
    `- Restore files to their versions after a step: ${code(`goald restore ${id} --step N`, 300)}`,
  ];
  return `${lines.join("\n")}\n\nIts folder: ${code(workspace, 1_000)}`;
}

/** The paths whose file name appears in the text as a whole word. Bounded in files looked at and returned. */
export function findNamedFiles(text: string, paths: readonly string[]): readonly string[] {
  const lower = text.toLowerCase();
  const stands = (name: string): boolean =>
    new RegExp(`(?<![\\w-])${RegExp.escape(name)}(?![\\w-]|\\.\\w)`).test(lower);
  return paths
    .slice(0, MAX_NAMED_OF)
    .filter((path) => {
      const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
      return name.length >= MIN_NAME_CHARS && lower.includes(name) && stands(name);
    })
    .slice(0, MAX_NAMED);
}

const MAX_NAMED_OF = 5_000;
const MAX_NAMED = 20;
const MIN_NAME_CHARS = 3;

/**
 * Escapes text of models, files and people for a Markdown document, as prose in one line. Escaped text, also that of
 * `code` and `quote`, cannot start a heading, a list, a link, an image, HTML or a formula, and has no control
 * characters.
 */
export const inline = (text: string, maxChars: number): string => escapeLine(oneLine(clean(text), maxChars));

/** A name, path, address or command in one line, as a code span. */
export function code(text: string, maxChars: number): string {
  const line = oneLine(clean(text), maxChars) || " ";
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const edge = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${edge}${line}${edge}${fence}`;
}

/** Paragraphs with `>` before each line, at most `maxChars` of them. */
export function quote(text: string, maxChars: number): string {
  const whole = clean(text).trim();
  const short = whole.length <= maxChars ? whole : `${whole.slice(0, maxChars - 1).toWellFormed()}…`;
  return short
    .split("\n")
    .map((line) => `> ${escapeLine(line.trim())}`.trimEnd())
    .join("\n");
}

const codeList = (names: readonly string[]): string => names.map((name) => code(name, 300)).join(", ");

function fitLines(lines: readonly string[], maxBytes: number, what: string, indent = ""): string {
  let bytes = 0;
  const fitting = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > maxBytes;
  });
  if (fitting < 0) return lines.join("\n");
  return [...lines.slice(0, fitting), `${indent}- and ${lines.length - fitting} more ${what}, omitted here`].join("\n");
}

/** GitHub turns bare addresses into links, and dollar signs into formulas. */
const escapeLine = (line: string): string =>
  line
    .replace(/[\\`*_[\]<>|~$&@]/g, "\\$&")
    .replace(/:(?=\/)|(?<=www)\./gi, "\\$&")
    .replace(/^(\d{1,9})(?=[.)])/, "$1\\")
    .replace(/^[#+=-]/, "\\$&");
