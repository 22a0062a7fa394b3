/**
 * goals.ts -- `goald goals`: shows or changes the goals of an agent, and the checks that prove them. Changes apply to
 * the goals that were set last, even while the agent has not read them yet. Checks name goals by their place, so
 * `--set` and `--rm` drop the present checks.
 */
import { validateAgent } from "#config/agent-spec.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { describeCheck, type GoalCheck } from "#core/goal-check.ts";
import { isFinished } from "#core/state.ts";
import { countNoun } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { redactJson } from "#util/redact.ts";
import type { GoalsView } from "#views/read-agent.ts";
import { withReading } from "../agents.ts";
import { type CliContext, callsHere } from "../context.ts";
import { checkOption, readCheckOptions } from "../run-options.ts";
import { AGENT, defineVerb, HOST_CODES, NO_AGENT, type OptionValues, positiveInteger, values } from "../verb.ts";
import { tellDone, viewWhenHeard, withAgent } from "../with-agent.ts";

const OPTIONS = {
  set: values("--set <goal>", "replace all goals; repeat it for up to five"),
  add: values("--add <goal>", "add a goal; repeat it for several"),
  rm: values("--rm <number>", "remove this goal; repeat it for several", positiveInteger),
  check: { ...checkOption, about: `${checkOption.about}; replaces all checks` },
};

export const verb = defineVerb({
  description:
    "show or change an agent's goals and their checks; it reads the new ones in its next step. --add keeps the checks; --set and --rm drop them, unless --check gives new ones",
  examples: [
    "goald goals chef",
    'goald goals chef --add "Write a summary" --rm 2',
    'goald goals chef --set "Plan a week" --set "Write it to plan.md" --check "2: plan.md min 400"',
  ],
  arguments: [AGENT],
  options: OPTIONS,
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([agent], options) =>
    withAgent(agent, options, async ({ row, state, context, reach }) => {
      const told = await withReading(context, (reading) => reading.goals(row.id));
      const goals = changed(row.id, told.goals, options);
      if (goals === undefined) {
        show(row.id, told, context);
        if (!told.isRead) context.output.say("The agent has not read these goals yet.");
        return EXIT.ok;
      }
      const checks = await checksFor(goals.length, told.checks, options);
      const valid = validateAgent({ name: state.name, role: state.role, goals, checks });
      const given = { goals: valid.goals.map(context.scrub), checks: redactJson(valid.checks ?? [], context.scrub) };
      const client = await reach();
      const { agent, note } = await client.setGoals(row.id, given.goals, given.checks);
      const view = isFinished(state) ? await viewWhenHeard(client, agent) : agent;
      if (!context.output.json) show(row.id, given, context);
      if (told.checks.length > 0 && checks.length === 0) context.output.say(sayDropped(told.checks.length));
      return tellDone({ agent: view, note: callsHere(context.home, note) }, context, given);
    }),
});

type GoalsOptions = OptionValues<typeof OPTIONS>;
type Given = Pick<GoalsView, "goals" | "checks">;

/** Returns undefined when nothing changes. Throws GOALD_USAGE for conflicting options. */
function changed(
  agent: string,
  goals: readonly string[],
  { set = [], add = [], rm = [], check = [] }: GoalsOptions,
): readonly string[] | undefined {
  if (set.length > 0 && add.length + rm.length > 0)
    throw new GoaldError("GOALD_USAGE", "--set replaces all goals; --add and --rm change the present ones.", {
      hint: "Use --set alone, or --add and --rm.",
    });
  if (set.length > 0) return set;
  if (add.length + rm.length === 0) return check.length > 0 ? goals : undefined;
  const missing = rm.find((number) => number > goals.length);
  if (missing !== undefined)
    throw new GoaldError("GOALD_USAGE", `There is no goal ${missing}: it has ${countNoun(goals.length, "goal")}.`, {
      hint: `See the goals with their numbers: goald goals ${agent}`,
    });
  return [...goals.filter((_, at) => !rm.includes(at + 1)), ...add];
}

/** The checks after the change. Those of the earlier goals stay when goals are only added. */
async function checksFor(
  goalCount: number,
  present: readonly GoalCheck[],
  { set = [], rm = [], check = [] }: GoalsOptions,
): Promise<readonly GoalCheck[]> {
  if (check.length > 0) return readCheckOptions(check, goalCount);
  return set.length + rm.length > 0 ? [] : present;
}

const sayDropped = (count: number): string =>
  `${countNoun(count, "check")} of the earlier goals ${count === 1 ? "was" : "were"} dropped. Give new ones with --check.`;

function show(agent: string, { goals, checks }: Given, { output, redact }: CliContext): void {
  if (output.printJson({ agent, goals, checks }, redact)) return;
  for (const [at, goal] of goals.entries()) output.page(redact(clean(`${at + 1}. ${goal}`)));
  for (const check of checks) {
    const whose = check.goal === null ? "all goals" : `goal ${check.goal + 1}`;
    output.page(redact(clean(`Check of ${whose}: ${describeCheck(check.test)}`)));
  }
}
