/** show.ts -- `goald show`: shows one agent in full: goals, state, cost, limits and files. */

import { shortSpan } from "#cli/terminal/span.ts";
import type { Home } from "#config/home.ts";
import { describeReceived } from "#core/describe-sources.ts";
import { EXIT } from "#core/errors.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/clean.ts";
import type { AgentDetails } from "#views/agent-details.ts";
import { describeCheckView } from "#views/check-view.ts";
import { describeLimit, dollars } from "#views/limits-left.ts";
import type { WaitingView } from "#views/waiting.ts";
import { AGENT, step } from "../option.ts";
import { callsHere, type GlobalOptions } from "../shared/context.ts";
import { describeApproval } from "../shared/describe-approval.ts";
import { reading } from "../shared/reading.ts";
import { showStep } from "../shared/show-step.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "show",
  group: "Look at agents",
  summary: "show an agent, or one step of it (--step)",
  description: "show an agent's goals, state, cost and files; with --step all of one step",
  examples: ["goald show foo", "goald show foo --step 3", "goald show foo --step 3 --json"],
  arguments: [AGENT],
  options: {
    step: step(
      "--step <number>",
      "show this step: prompt, recalls, reply, command, the calls inside it, result, files",
    ),
  },
  exitCodes: { notFound: "no such agent or step" },
  run: async ([agent = ""], { step, ...options }) =>
    step === undefined ? show(agent, options) : showStep(agent, step, options),
});

export async function show(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output, redact, home }) => {
    const { next, ...details } = await reading.details(name);
    const text = output.json ? JSON.stringify(details) : clean(describe({ ...details, next }, home));
    output.data(redact(text));
    return EXIT.ok;
  });
}

function describe(agent: AgentDetails, home: Home): string {
  const { waiting } = agent;
  const { inputTokens, outputTokens, cachedTokens, estimated } = agent.usage;
  const about = estimated ? "about " : "";
  const lost = agent.lost.tokens > 0 ? `, perhaps ${dollars(agent.lost.usd)} more for calls without an end` : "";
  const lines = [
    `${agent.name} (${agent.id}), ${agent.role}`,
    ...agent.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    ...agent.checks.map(
      (check) => `Check:      ${describeCheckView(check)}${check.goal === null ? "" : ` (goal ${check.goal + 1})`}`,
    ),
    `State:      ${agent.state}${agent.reason && waiting?.kind !== "approval" ? ` (${agent.reason})` : ""}`,
    ...(waiting === null ? [] : [describeWaiting(waiting)]),
    ...(agent.stalledMs === null ? [] : [`Stalled:    nothing has happened for ${shortSpan(agent.stalledMs)}`]),
    `Steps:      ${agent.step}, ${countNoun(agent.tokens, "token")}`,
    `Turn:       ${agent.turn}`,
    ...(agent.parent === null ? [] : [`Started by: ${agent.parent}`]),
    ...agent.agents.map(({ id, state: standing, step }) => `Agent:      ${id}, ${standing}, at step ${step}`),
    `Cost:       ${dollars(agent.costUsd)}, ${about}${inputTokens} tokens in (${cachedTokens} cached), ${outputTokens} out${lost}`,
    ...agent.limits.map((limit) => `Limit:      ${describeLimit(limit)}`),
    ...(agent.received.length > 0 ? [`Outside:    it has read words from ${describeReceived(agent.received, 5)}`] : []),
    ...agent.trusted.map(({ path, at }) => `Trusted:    ${path ?? "all that it had read"}, by a person at ${at}`),
    ...(agent.lastThought ? [`Thought:    ${agent.lastThought}`] : []),
    ...agent.next.todo.map(({ text, command }) => `Next:       ${text}: ${callsHere(home, command)}`),
    `Workspace:  ${agent.workspace}`,
    ...agent.files.map(({ path, bytes, step }) => `  ${path} (${countNoun(bytes, "byte")}, step ${step})`),
  ];
  return lines.join("\n");
}

/** Describes the command or question that waits for a person. */
const describeWaiting = (waiting: WaitingView): string =>
  waiting.kind === "question"
    ? `Question:   ${waiting.question}`
    : `Wants:      ${describeApproval(waiting).join("\n            ")}`;
