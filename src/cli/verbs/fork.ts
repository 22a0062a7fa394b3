/**
 * fork.ts -- `goald fork`: creates an agent that starts from another agent's state after a step (host/fork-agent.ts).
 * The other agent may be at work.
 */
import type { ForkedAgent } from "#api/schemas.ts";
import { printNote } from "#cli/terminal/print.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { EXIT } from "#core/errors.ts";
import type { AgentRow } from "#core/ports/store.ts";
import { countNoun } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { type CliContext, formatCall } from "../context.ts";
import { AGENT, defineVerb, HOST_CODES, step, text, values } from "../verb.ts";
import { askThroughDeaths, withAgent } from "../with-agent.ts";

export const verb = defineVerb({
  description:
    "create an agent that begins where another one was after a step, with its log, memories and files; it is paused, unless the other had finished",
  examples: [
    "goald fork chef --step 7",
    'goald fork chef --step 7 --name "Chef in French" --goal "Write it in French"',
    'goald resume "$(goald fork chef --step 7)" --continuous',
  ],
  arguments: [AGENT],
  options: {
    step: { ...step("--step <number>", "begin after this step; 0 is before the first", 0), isRequired: true },
    goal: values("-g, --goal <goal>", "replace its goals; repeat it for up to five"),
    name: text("--name <name>", "name the new agent (default: the same name)"),
  },
  exitCodes: { notFound: "no such agent or step", ...HOST_CODES },
  run: ([agent], { step = 0, goal = [], name, ...options }) =>
    withAgent(agent, options, async ({ row, state, context, reach }) => {
      const named = goal.length === 0 ? [] : validateAgent({ name: state.name, role: state.role, goals: goal }).goals;
      const key = `fork/${process.pid}/${systemClock.now().toISOString()}`;
      const goals = named.length > 0 ? { goals: named.map(context.scrub) } : {};
      const request = { step, ...goals, ...(name === undefined ? {} : { name: context.scrub(name) }), key };
      const client = await reach();
      const made = await askThroughDeaths(context, () => client.fork(row.id, request));
      return tellFork(row, made, step, context);
    }),
});

function tellFork(from: AgentRow, made: ForkedAgent, step: number, { output, home }: CliContext): number {
  const { id, name, workspace, events, files, state } = made;
  if (output.printJson({ agent: id, name, from: from.id, step, events, files, workspace })) return EXIT.ok;
  output.data(id);
  const tell = process.stdout.isTTY ? output.say : printNote;
  const where = `step ${step} of ${from.id}, with ${countNoun(files, "file")} in ${workspace}`;
  tell(clean(`${name} (${id}) starts from ${where}`));
  const isOver = state === "completed";
  if (isOver) tell(`It has finished, as ${from.id} had. Give it more to do: ${formatCall(home, "say", id)} "…"`);
  else tell(`It is paused. Go on with: ${formatCall(home, "resume", id)}`);
  return EXIT.ok;
}
