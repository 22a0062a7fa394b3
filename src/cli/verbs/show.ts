/** show.ts -- `goald show`: one agent in full: goals, state and reason, cost and limits, files. */
import { shortSpan } from "#cli/terminal/span.ts";
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import { clean } from "#util/clean.ts";
import type { AgentDetails } from "#views/agent-details.ts";
import { describeLimit, dollars } from "#views/limits-left.ts";
import { callsHere, counted, type GlobalOptions } from "../shared/context.ts";
import { reading } from "../shared/reading.ts";

export async function show(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reading, { output, redact, home }) => {
    const { next, ...details } = await reading.details(name);
    const text = output.json ? JSON.stringify(details) : clean(describe({ ...details, next }, home));
    output.data(redact(text));
    return EXIT.ok;
  });
}

function describe(agent: AgentDetails, home: Home): string {
  const { inputTokens, outputTokens, cachedTokens, estimated } = agent.usage;
  const about = estimated ? "about " : "";
  const lost = agent.lost.tokens > 0 ? `, perhaps ${dollars(agent.lost.usd)} more for calls without an end` : "";
  const lines = [
    `${agent.name} (${agent.id}), ${agent.role}`,
    ...agent.goals.map((goal, index) => `  ${index + 1}. ${goal}`),
    `State:      ${agent.state}${agent.reason ? ` (${agent.reason})` : ""}`,
    ...(agent.stalledMs === null ? [] : [`Stalled:    nothing has happened for ${shortSpan(agent.stalledMs)}`]),
    `Steps:      ${agent.step}, ${counted(agent.tokens, "token")}`,
    `Turn:       ${agent.turn}`,
    ...(agent.parent === null ? [] : [`Started by: ${agent.parent}`]),
    ...agent.agents.map(({ id, state: standing, step }) => `Agent:      ${id}, ${standing}, at step ${step}`),
    `Cost:       ${dollars(agent.costUsd)}, ${about}${inputTokens} tokens in (${cachedTokens} cached), ${outputTokens} out${lost}`,
    ...agent.limits.map((limit) => `Limit:      ${describeLimit(limit)}`),
    ...(agent.lastThought ? [`Thought:    ${agent.lastThought}`] : []),
    ...agent.next.todo.map(({ text, command }) => `Next:       ${text}: ${callsHere(home, command)}`),
    `Workspace:  ${agent.workspace}`,
    ...agent.files.map(({ path, bytes, step }) => `  ${path} (${counted(bytes, "byte")}, step ${step})`),
  ];
  return lines.join("\n");
}
