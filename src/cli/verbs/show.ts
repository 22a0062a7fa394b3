/** show.ts -- `goald show`: one agent in full: goals, where it stands and why, what it cost and may still cost, its files. */

import type { AgentView } from "#api/control.ts";
import { shortSpan } from "#cli/terminal/span.ts";
import type { Home } from "#config/home.ts";
import { EXIT } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { StoreReader } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { systemClock } from "#util/clock.ts";
import { dollars, type LimitLeft, limitsLeft, sayLimit } from "#views/limits-left.ts";
import { findAgent, stateOf } from "#views/load-agent.ts";
import { nextStepOf } from "#views/next-step.ts";
import { AGENT, step } from "../option.ts";
import { callsHere, counted, type GlobalOptions } from "../shared/context.ts";
import { latestFiles } from "../shared/latest-files.ts";
import { reading, viewAgents } from "../shared/reading.ts";
import { showStep } from "../shared/show-step.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  name: "show",
  group: "Look at agents",
  summary: "show an agent, or one step of it (--step)",
  description: "show an agent's goals, state, cost and files; with --step all of one step",
  examples: ["goald show foo", "goald show foo --step 3", "goald show foo --step 3 --json"],
  arguments: [AGENT],
  options: { step: step("--step <number>", "show this step: prompt, recalls, reply, command, result, files") },
  exitCodes: { notFound: "no such agent or step" },
  run: async ([agent = ""], { step, ...options }) =>
    step === undefined ? show(agent, options) : showStep(agent, step, options),
});

export async function show(name: string, options: GlobalOptions): Promise<number> {
  return reading(options, async (reader, context) => {
    const row = await findAgent(reader, name);
    // Whatever is wrong with its log is said as an error, not as a state.
    const state = await stateOf(reader, row);
    const [view] = await viewAgents({ load: reader.load.bind(reader) }, context, [row]);
    if (!view) throw new Error(`no view of ${row.id}`);
    const { role, goals, settings, usage, lost } = state;
    const agents = await viewAgents(
      { load: reader.load.bind(reader) },
      context,
      (await reader.agents()).filter(({ parent }) => parent === row.id),
    );
    const limits = limitsLeft(state, systemClock.now());
    const files = latestFiles(await reader.files(row.id));
    const more = { ...(await lastThought(reader, row)), files, agents };
    const whole = { ...view, role, goals, settings, usage, lost, limits, ...more };
    if (context.output.json) context.output.data(context.redact(JSON.stringify(whole)));
    else context.output.data(context.redact(clean(describe(whole, state, context.home))));
    return EXIT.ok;
  });
}

type Whole = AgentView &
  Pick<AgentState, "role" | "goals" | "usage" | "lost"> & {
    readonly limits: readonly LimitLeft[];
    readonly lastThought: string;
    readonly files: ReturnType<typeof latestFiles>;
    /** Those that it has started. */
    readonly agents: readonly AgentView[];
  };

async function lastThought(reader: StoreReader, row: AgentRow): Promise<{ readonly lastThought: string }> {
  const tail = await reader.read(row.id, Math.max(0, row.head - 50), 50);
  return { lastThought: tail.findLast((event) => event.type === "command-requested")?.thought ?? "" };
}

function describe(agent: Whole, state: AgentState, home: Home): string {
  const { todo } = nextStepOf(agent.id, state, agent.state);
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
    ...agent.limits.map((limit) => `Limit:      ${sayLimit(limit)}`),
    ...(agent.lastThought ? [`Thought:    ${agent.lastThought}`] : []),
    ...todo.map(({ text, command }) => `Next:       ${text}: ${callsHere(home, command)}`),
    `Workspace:  ${agent.workspace}`,
    ...agent.files.map(({ path, bytes, step }) => `  ${path} (${counted(bytes, "byte")}, step ${step})`),
  ];
  return lines.join("\n");
}
