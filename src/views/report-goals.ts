/** report-goals.ts -- renders the goals of a report: each with its checks and its files, then the agent's own words. Pure. */
import { describeCheckView } from "./check-view.ts";
import { code, codeList, fitLines, inline, quote } from "./markdown.ts";
import type { ReportFacts } from "./report-facts.ts";

/** Bytes. */
const SHARE = { turns: 5_000, checks: 8_000 } as const;

export function renderGoals(facts: ReportFacts): string {
  const { goals, checks, closing, lastThought, turns } = facts;
  const listed = goals.map((goal, index) => renderGoal(goal, index, facts));
  const ofAll = renderChecks(null, "", facts);
  const lines = [
    listed.length > 0 ? listed.join("\n") : "It has no goals.",
    ...(ofAll === "" ? [] : [`Checks of all goals together:\n\n${ofAll}`]),
    ...(checks.length > 0 ? ["The checks run when the agent reports its goals as reached."] : []),
    ...describeUnchecked(facts),
  ];
  if (closing) {
    lines.push(`### Its closing words\n\n${quote(closing.text, 4_000)}`);
    lines.push(
      closing.named.length > 0
        ? `These words name existing files: ${codeList(closing.named)}.`
        : "These words name no existing file.",
    );
  } else if (lastThought !== "") lines.push(`### Its last thought\n\n${quote(lastThought, 1_000)}`);
  const earlier = closing ? turns.slice(0, -1) : turns;
  if (earlier.length > 0) {
    const rows = earlier.map(({ turn, at, reason }) => `- Turn ${turn}, ${at}: ${inline(reason, 400)}`);
    lines.push(`### Earlier turns\n\n${fitLines(rows, SHARE.turns, "turns")}`);
  }
  return lines.join("\n\n");
}

function renderGoal({ goal, named }: ReportFacts["goals"][number], index: number, facts: ReportFacts): string {
  const steps = new Map(facts.files.map(({ path, step }) => [path, step]));
  const found = named.map((path) => `${code(path, 300)} (step ${steps.get(path)})`);
  const evidence = found.length > 0 ? `it names ${found.join(", ")}` : "it names no existing file";
  const checks = renderChecks(index, "   ", facts);
  return `${index + 1}. ${inline(goal, 1_000)}\n   - Evidence: ${evidence}${checks === "" ? "" : `\n${checks}`}`;
}

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
