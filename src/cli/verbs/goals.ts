/**
 * goals.ts -- `goald goals`: shows the goals of an agent, or changes them. Numbers are those that it shows.
 *
 * The goals are those that it was told last, though it may read them only when it goes on: what is added comes to these.
 */

import { validateAgent } from "#config/agent-spec.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isFinished } from "#core/state.ts";
import { clean } from "#util/clean.ts";
import { type CliContext, callsHere, counted, type GlobalOptions } from "../shared/context.ts";
import { withReading } from "../shared/reading.ts";
import { steering, tellDone, viewWhenHeard } from "../shared/steering.ts";

export interface GoalsOptions extends GlobalOptions {
  readonly set?: readonly string[];
  readonly add?: readonly string[];
  readonly rm?: readonly number[];
}

export async function goalsVerb(name: string, options: GoalsOptions): Promise<number> {
  return steering(name, options, async ({ row, state, context, reach }) => {
    const told = await withReading(context, (reading) => reading.goals(row.id));
    const goals = changed(row.id, told.goals, options);
    if (goals === undefined) {
      show(row.id, told.goals, context);
      if (!told.isRead) context.output.say("It has not read these yet.");
      return EXIT.ok;
    }
    const { role, name: called } = state;
    const checked = validateAgent({ name: called, role, goals }).goals.map(context.scrub);
    const client = await reach();
    const { agent, note } = await client.setGoals(row.id, checked);
    const view = isFinished(state) ? await viewWhenHeard(client, agent) : agent;
    if (!context.output.json) show(row.id, checked, context);
    return tellDone({ agent: view, note: callsHere(context.home, note) }, context, { goals: checked });
  });
}

/** undefined when they stay as they are. Throws GOALD_USAGE for flags that cannot be meant together. */
function changed(
  agent: string,
  goals: readonly string[],
  { set = [], add = [], rm = [] }: GoalsOptions,
): readonly string[] | undefined {
  if (set.length > 0 && add.length + rm.length > 0)
    throw new GoaldError("GOALD_USAGE", "--set replaces all goals, --add and --rm change the ones that are there.", {
      hint: "Use --set alone, or --add and --rm.",
    });
  if (set.length > 0) return set;
  if (add.length + rm.length === 0) return undefined;
  const missing = rm.find((number) => number > goals.length);
  if (missing !== undefined)
    throw new GoaldError("GOALD_USAGE", `There is no goal ${missing}: it has ${counted(goals.length, "goal")}.`, {
      hint: `See them, with their numbers: goald goals ${agent}`,
    });
  return [...goals.filter((_, at) => !rm.includes(at + 1)), ...add];
}

function show(agent: string, goals: readonly string[], { output, redact }: CliContext): void {
  if (output.json) output.data(redact(JSON.stringify({ agent, goals })));
  else for (const [at, goal] of goals.entries()) output.data(redact(clean(`${at + 1}. ${goal}`)));
}
