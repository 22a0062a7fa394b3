/**
 * run.ts -- `goald run`: creates an agent, then follows it or lets it run in the background. Flags, agent, terminal and
 * key are checked before anything is created.
 */
import { priceOfModel } from "#app/catalogue.ts";
import { printNote } from "#cli/terminal/print.ts";
import { askYesNo } from "#cli/terminal/questions.ts";
import { readAgentFile } from "#config/agent-file.ts";
import { type AgentDraft, DEFAULT_AGENT, validateAgent } from "#config/agent-spec.ts";
import { EXIT } from "#core/errors.ts";
import { describeCheck, type GoalCheck } from "#core/goal-check.ts";
import { isFinished } from "#core/state.ts";
import { oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { requireFinished } from "#views/next-step.ts";
import { findServer } from "../connect.ts";
import { type CliContext, openContext } from "../context.ts";
import {
  approveOption,
  checkOption,
  checkOptions,
  flagsOf,
  givenMode,
  modeOf,
  RUN_OPTIONS,
  readBudget,
  readCheckOptions,
  requireSomebody,
} from "../run-options.ts";
import { defineVerb, flag, NO_AGENT, type OptionValues, RUN_CODES, text, usageError, values } from "../verb.ts";
import { type Found, findState, lastAgent } from "../with-agent.ts";
import { describePrice } from "./models.ts";

const OPTIONS = {
  name: text("--name <name>", "name the agent"),
  role: text("--role <role>", "describe its role, such as “an assistant that plans meals”"),
  goal: values("-g, --goal <goal>", "add a goal; repeat it for up to five"),
  from: text(
    "--from <file>",
    "read ai_name, ai_role, ai_goals and ai_checks from a YAML file; other options override them",
  ),
  check: checkOption,
  continue: text("--continue <agent>", "begin the next turn of this finished agent, with the given goals"),
  detach: flag("-d, --detach", "run it in the background and return at once"),
  wait: flag("--wait", "run it in the background and wait silently for its result"),
  approve: approveOption("always here, risky in the background"),
  ...RUN_OPTIONS,
};
export type RunOptions = OptionValues<typeof OPTIONS>;

export const verb = defineVerb({
  description:
    "start a new agent, set up by questions or by options, here or in the background; with --continue, begin the next turn of a finished agent, which keeps its files, memory and settings",
  examples: [
    "goald run",
    'goald run --name Chef --role "an assistant that plans meals" -g "Plan a week" -g "Write it to plan.md"',
    "goald run --from agent.yaml --continuous --continuous-limit 50 --json",
    "goald run -d --from agent.yaml --approve risky --max-time 8h --budget 2.50",
    "goald run --wait --from agent.yaml --max-steps 200 && cat workspace/chef/plan.md",
    'goald run -d "Write a plan to plan.md" --check "plan.md contains Risks" --check "plan.md min 400"',
    'goald run --continue chef -g "Now write the shopping list" --max-steps 50',
    "goald run --from agent.yaml --continuous --record chef.ndjson && goald replay chef.ndjson",
  ],
  arguments: [{ name: "[goal]", about: "a goal, as with --goal" }],
  options: OPTIONS,
  exitCodes: { ...NO_AGENT, ...RUN_CODES },
  run: ([goal], options) =>
    options.continue === undefined ? runVerb(goal, options) : continueAgent(options.continue, goal, options),
});

/** `goal`: the argument without a flag, which adds a goal. */
export async function runVerb(goal: string | undefined, options: RunOptions): Promise<number> {
  checkOptions(options);
  using context = await openContext(options, flagsOf(options));
  const given = await agentFromFlags(goal, options);
  if (!given && !context.output.interactive)
    throw usageError(
      "There is no agent to run: no goal was given, and there is no terminal to ask on.",
      'Give at least a goal: goald run -d "…" in the background, or goald run --goal "…" --continuous; or a file: goald run --from agent.yaml --continuous.',
    );
  if (!options.detach && !options.wait) requireSomebody(context, givenMode(options) ?? context.settings.agents.approve);
  if (!given) return await setUp(context, options);
  const { createAgent } = await import("../run-agent.ts");
  return await createAgent(given, context, { ...options, playDemo: playDemo(options) });
}

/** Asks on the terminal for a model, an agent and its limits, unless the last agent is continued. */
async function setUp(visited: CliContext, options: RunOptions): Promise<number> {
  const { input, page } = visited.output;
  const screen = { input, say: page };
  const starting = { ...options, playDemo: playDemo(options) };
  const [ask, { createAgent, resumeAgent }] = await Promise.all([
    import("#cli/terminal/set-up.ts"),
    import("../run-agent.ts"),
  ]);
  const last = await lastAgent(visited);
  if (last && isLeftBehind(last)) {
    const isContinued = await ask.askToContinue(screen, last.state);
    if (isContinued === undefined) return EXIT.interrupted;
    if (isContinued) return await resumeAgent(last, visited, starting);
  }
  const inBackground = options.detach === true || options.wait === true;
  const context = await findServer(visited, { ...starting, inBackground, hasAgent: false });
  if (typeof context === "number") return context;
  const agent = await ask.askForAgent(screen);
  if (!agent) return EXIT.interrupted;
  const { home, settings } = context;
  const price = await priceOfModel(home, settings.models.smart, settings.openai.baseUrl);
  const mode = givenMode(options);
  const initial = settings.limits.unattendedUsd ?? Number.POSITIVE_INFINITY;
  const terms = await ask.askForTerms(screen, {
    ...(mode === undefined ? { approve: await modeOf(context, options, inBackground) } : {}),
    ...(options.budget === undefined && price && price.input > 0 ? { budget: { initial, read: readBudget } } : {}),
  });
  if (!terms) return EXIT.interrupted;
  const { approve = mode ?? settings.agents.approve, budget = options.budget } = terms;
  const model = `${settings.models.smart} at ${settings.openai.baseUrl} (${describePrice(price)})`;
  const most = budget !== undefined && Number.isFinite(budget) ? `, and spends at most $${budget}` : "";
  screen.say(clean(`It works with ${model} and asks before ${ASKS[approve]}${most}.`));
  const isStarted = await askYesNo(screen, START);
  if (!isStarted) return isStarted === undefined ? EXIT.interrupted : EXIT.ok;
  return await createAgent(agent, context, { ...starting, ...terms });
}

const ASKS = { always: "each command", risky: "risky commands", never: "no command" } as const;
const START = { question: "Start?", default: true, help: "  y  start the agent\n  n  start nothing" } as const;

/** `name`: id or name of a finished agent. */
async function continueAgent(name: string, goal: string | undefined, options: RunOptions): Promise<number> {
  checkOptions(options);
  const goals = goalsOf(goal, options);
  if (options.name !== undefined || options.role !== undefined || options.from !== undefined)
    throw usageError(
      "--continue keeps the agent's name and role, so --name, --role and --from do not go with it.",
      "Leave them out, or leave --continue out for a new agent.",
    );
  if (goals.length === 0)
    throw usageError(
      "--continue begins a turn with new goals, and none was given.",
      `Give it goals: goald run --continue ${name} -g "…"\nSay something instead: goald say ${name} "…"\nGo on with its present turn: goald resume ${name}`,
    );
  using context = await openContext(options, flagsOf(options));
  const found = await findState(name, context);
  requireFinished(found.row.id, found.state);
  const { role, settings } = found.state;
  const checks = (await givenChecks(options, goals.length)) ?? [];
  const checked = validateAgent({ name: found.state.name, role, goals, checks });
  if (!options.detach && !options.wait && !settings.background)
    requireSomebody(context, givenMode(options) ?? settings.approve);
  const { resumeAgent } = await import("../run-agent.ts");
  return await resumeAgent(found, context, { ...options, playDemo: playDemo(options) }, checked);
}

const playDemo = (options: RunOptions) => async (): Promise<number> => (await import("./demo.ts")).demoVerb(options);

/** True for an unfinished agent that no daemon continues by itself. */
const isLeftBehind = ({ state }: Found): boolean =>
  !isFinished(state) && (state.paused !== null || !state.settings.background);

const goalsOf = (goal: string | undefined, options: RunOptions): readonly string[] => [
  ...(goal === undefined ? [] : [goal]),
  ...(options.goal ?? []),
];

async function agentFromFlags(goal: string | undefined, options: RunOptions): Promise<AgentDraft | undefined> {
  const goals = goalsOf(goal, options);
  const { name, role, from } = options;
  if (from) {
    const file = await readAgentFile(from);
    for (const note of file.notes) printNote(`${from}: ${note}`);
    const isOther = goals.length > 0;
    if (isOther && file.checks && !options.check) printNote(`${from}: ${CHECKS_LEFT_OUT}`);
    const present = isOther ? [] : (file.checks ?? []);
    const own = isOther ? goals : file.goals;
    const agent = validateAgent({
      name: name ?? file.name,
      role: role ?? file.role,
      goals: own,
      checks: (await givenChecks(options, own.length)) ?? present,
    });
    if (!options.check) for (const check of agent.checks ?? []) printNote(`${from}: ${describeGiven(check)}`);
    return agent;
  }
  if (name === undefined && role === undefined && goals.length === 0) return options.check ? refuseChecks() : undefined;
  const checks = (await givenChecks(options, goals.length)) ?? [];
  return validateAgent({ name: name ?? DEFAULT_AGENT.name, role: role ?? DEFAULT_AGENT.role, goals, checks });
}

/** A check of a file, for the person who starts it: what it looks at, or the beginning of its code. */
function describeGiven({ goal, test }: GoalCheck): string {
  const what = test.kind === "code" ? `python: ${test.code}` : describeCheck(test);
  return `check of ${goal === null ? "all goals" : `goal ${goal + 1}`}: ${oneLine(what, 160)}`;
}

const CHECKS_LEFT_OUT = "its checks are for its own goals, so the goals given here have none. Give them with --check.";

const givenChecks = async ({ check }: RunOptions, goalCount: number): Promise<readonly GoalCheck[] | undefined> =>
  check && (await readCheckOptions(check, goalCount));

function refuseChecks(): never {
  throw usageError(
    "--check proves a goal, and no goal was given.",
    'Give the goal too, such as: goald run "Write a plan to plan.md" --check plan.md',
  );
}
