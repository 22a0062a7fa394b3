/**
 * report.ts -- renders `_goald/report.md`: an agent's work, for a person who was away. Pure.
 *
 * goald judges goals by their checks only: the report has their results, quotes the agent and lists files, sources,
 * failures, cost and next steps. Text from outside is escaped (markdown.ts). At most 64 KB: each part has a share and counts what it omits.
 */
import { describeReceived, listSources } from "#core/describe-sources.ts";
import { countNoun } from "#core/text.ts";
import { describeLimit, dollars } from "./limits-left.ts";
import { code, codeList, fitLines, inline } from "./markdown.ts";
import type { ReportFacts } from "./report-facts.ts";
import { REPORT_LIMITS, type ReportFile } from "./report-fold.ts";
import { renderGoals } from "./report-goals.ts";
import type { Trouble } from "./troubles.ts";

type Source = ReportFacts["sources"][number];

/** Bytes per list. The whole report stays below 64 KB. */
const SHARE = { files: 20_000, sources: 12_000, troubles: 10_000 } as const;

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

function renderOpening({
  name,
  id,
  role,
  standing,
  next,
  pauseReason,
  received,
  cost,
  createdAt,
  lastEventAt,
}: ReportFacts): string {
  const lines = [
    `${inline(name, 100)} (${code(id, 100)}) is ${inline(role, 600) || "an agent without a role"}.`,
    "",
    `- State: **${inline(standing, 60)}**. ${next.why}`,
    ...(pauseReason ? [`- Reason: ${inline(pauseReason, 600)}`] : []),
    ...(received.length > 0 ? [`- Outside words: ${inline(describeReceived(received, 5), 600)}`] : []),
    `- ${countNoun(cost.steps, "step")}, from ${createdAt} to ${lastEventAt} (the last event)`,
  ];
  return lines.join("\n");
}

function renderFiles(facts: ReportFacts): string {
  const { id, files, moreFiles, workspace, deleted } = facts;
  if (files.length === 0) return explainNoFiles(facts);
  const gone = deleted > 0 ? ` ${countDeleted(deleted, "other ")} deleted.` : "";
  const count = countNoun(files.length, "file");
  const listed = moreFiles
    ? `The last changed ${count} in ${code(workspace, 1_000)}; all files: ${code(`goald files ${id}`, 300)}.`
    : `${count} in ${code(workspace, 1_000)}.`;
  const head = `${listed}${gone}`;
  return `${head}\n\n${fitLines(files.map(fileLine), SHARE.files, "files")}`;
}

/** Deleted files are counted up to a limit. */
const countDeleted = (deleted: number, which: string): string =>
  deleted < REPORT_LIMITS.deleted
    ? `${countNoun(deleted, `${which}file`)} ${deleted === 1 ? "was" : "were"}`
    : `At least ${deleted} ${which}files were`;

function fileLine({ path, bytes, step, at, by, command }: ReportFile): string {
  const who = by === "person" ? "changed by a person, found" : `by ${command ? code(command, 60) : "the agent"}`;
  return `- ${code(path, 900)}: ${countNoun(bytes, "byte")}, ${who} in step ${step}, ${at}`;
}

/** Explains an empty folder as far as the log allows. */
function explainNoFiles({ workspace, deleted, cost, commands, troubles, lastTroubles }: ReportFacts): string {
  const lines = [`The folder ${code(workspace, 1_000)} contains no file of this agent.`];
  const asked = Object.entries(commands).sort(([, a], [, b]) => b - a);
  const failed = (troubles.failed ?? 0) + (troubles.denied ?? 0) + (troubles.unknown ?? 0) + (troubles.cancelled ?? 0);
  if (deleted > 0)
    lines.push(`${countNoun(deleted, "file")} that it had written ${deleted === 1 ? "was" : "were"} deleted.`);
  else if (cost.steps === 0) lines.push("It has not taken a step yet.");
  else if (asked.length === 0)
    lines.push(
      `In ${countNoun(cost.steps, "step")} none of the model's replies could be parsed as a command, so nothing was run.`,
    );
  else {
    const list = asked
      .slice(0, 10)
      .map(([name, times]) => `${code(name, 60)} ${times === 1 ? "once" : `${times} times`}`);
    lines.push(`It requested ${list.join(", ")}; none of these calls wrote a file.`);
  }
  if (failed > 0 && deleted === 0) {
    const last = lastTroubles.findLast(({ kind }) => kind === "failed" || kind === "denied" || kind === "unknown");
    const reason = last ? ` The last reason: ${inline(last.reason, 300)}` : "";
    lines.push(`${countNoun(failed, "command")} failed or ${failed === 1 ? "was" : "were"} denied.${reason}`);
  }
  return lines.join(" ");
}

function renderSources({ sources, sourceCount }: ReportFacts): string {
  if (sources.length === 0) return "It read no files, pages or messages.";
  const rows = sources.toReversed().map(sourceLine);
  return `Read ${sourceCount === 1 ? "once" : `${sourceCount} times`}; the newest first.\n\n${fitLines(rows, SHARE.sources, "sources")}`;
}

function sourceLine({ kind, what, command, step, at, times, outside, kept, answer }: Source): string {
  const often = times === 1 ? "" : `, ${times} times`;
  if (kind === "person" && command === null) return `- A person, in step ${step}${often}, ${at}: ${inline(what, 200)}`;
  const by = command === null ? "" : ` by ${code(command, 60)}`;
  const whose = outside.length > 0 ? `: ${code(listSources(outside), 200)}` : "";
  const where = kept.length > 0 ? `, kept in ${codeList(kept.slice(0, 3))}` : "";
  const said = answer === "" ? "" : `: ${inline(answer, 120)}`;
  return `- ${code(what, 200)}${by} (${kind}${whose})${where}, last in step ${step}${often}, ${at}${said}`;
}

function renderTroubles({ troubles, lastTroubles }: ReportFacts): string {
  const counts = Object.entries(troubles);
  if (counts.length === 0) return "None in the log.";
  const sums = counts.map(([kind, times]) => `${COUNTED[kind as Trouble["kind"]]}: ${times}`);
  const rows = lastTroubles.toReversed().map(({ kind, step, at, what, reason }) => {
    const about = what === "" ? "" : ` ${code(what, 200)}`;
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

function renderCost({ cost, limits }: ReportFacts): string {
  const { steps, modelCalls, inputTokens, outputTokens, cachedTokens, estimated, usd, unpricedCalls, lost, helpers } =
    cost;
  const about = estimated ? "about " : "";
  const cached = cachedTokens > 0 ? ` (${cachedTokens} of them cached)` : "";
  const unpriced =
    unpricedCalls > 0
      ? `, without ${countNoun(unpricedCalls, "reply", "replies")} of models that have no known price`
      : "";
  const money =
    unpricedCalls > 0 && usd === 0 ? "Cost unknown: the model has no known price" : `${dollars(usd)}${unpriced}`;
  const lines = [
    `- ${countNoun(steps, "step")}, ${countNoun(modelCalls, "request")} to the model`,
    `- ${about}${inputTokens} tokens in${cached}, ${outputTokens} out`,
    `- ${money}`,
    ...(helpers.agents > 0 || helpers.steps > 0
      ? [
          `- In addition, its sub-agents: ${countNoun(helpers.steps, "step")}, ${helpers.tokens} tokens, ${dollars(helpers.usd)}`,
        ]
      : []),
    ...(lost.tokens > 0
      ? [
          `- Possibly charged in addition, for calls without a known end: up to ${lost.tokens} tokens, ${dollars(lost.usd)}`,
        ]
      : []),
    `- ${formatSeconds(cost.modelMs)} waiting for the model, ${formatSeconds(cost.commandMs)} in commands`,
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

const formatSeconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
