/**
 * fork.ts -- `goald fork`: creates an agent that starts from another agent's state after a step (host/fork-agent.ts).
 *
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
import { type CliContext, formatCall, type GlobalOptions, openContext } from "../context.ts";
import { AGENT, defineVerb, HOST_CODES, step, text, texts } from "../verb.ts";
import { findState, reachHost } from "../with-agent.ts";

export const verb = defineVerb({
  description:
    "create an agent that begins where another one was after a step, with its log, memories and files; it is paused",
  examples: [
    "goald fork chef --step 7",
    'goald fork chef --step 7 --name "Chef in French" --goal "Write it in French"',
    'goald resume "$(goald fork chef --step 7)" --continuous',
  ],
  arguments: [AGENT],
  options: {
    step: { ...step("--step <number>", "begin after this step; 0 is before the first", 0), isRequired: true },
    goal: texts("-g, --goal <goal>", "replace its goals; repeat it for up to five"),
    name: text("--name <name>", "name the new agent (default: the same name)"),
  },
  exitCodes: { notFound: "no such agent or step", ...HOST_CODES },
  run: ([agent = ""], { step = 0, ...options }) => forkVerb(agent, step, options),
});

export interface ForkOptions extends GlobalOptions {
  readonly goal?: readonly string[];
  readonly name?: string;
}

/** `step`: the fork starts after it; 0 is before the first step. */
export async function forkVerb(name: string, step: number, options: ForkOptions): Promise<number> {
  const context = await openContext(options);
  try {
    const { row, state } = await findState(name, context);
    const given = options.goal ?? [];
    const goals = given.length === 0 ? [] : validateAgent({ name: state.name, role: state.role, goals: given }).goals;
    const request = requestOf(step, { ...options, goal: goals }, context);
    const made = await (await reachHost(context)).fork(row.id, request);
    say(row, made, step, context);
    return EXIT.ok;
  } finally {
    context.output.close();
  }
}

const requestOf = (step: number, { name, goal = [] }: ForkOptions, { scrub }: CliContext) => {
  const key = `fork/${process.pid}/${systemClock.now().toISOString()}`;
  const goals = goal.length > 0 ? { goals: goal.map(scrub) } : {};
  return { step, ...goals, ...(name === undefined ? {} : { name }), key };
};

function say(
  from: AgentRow,
  { id, name, workspace, events, files }: ForkedAgent,
  step: number,
  context: CliContext,
): void {
  const { output, home } = context;
  if (output.json) {
    output.data(JSON.stringify({ agent: id, name, from: from.id, step, events, files, workspace }));
    return;
  }
  output.data(id);
  const tell = process.stdout.isTTY ? output.say : printNote;
  tell(
    clean(
      `${name} (${id}) starts from ${from.id} after step ${step}, with ${countNoun(files, "file")} in ${workspace}`,
    ),
  );
  tell(`It is paused. Go on with: ${formatCall(home, "resume", id)}`);
}
