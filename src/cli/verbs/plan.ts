/**
 * plan.ts -- `goald plan`: draws or changes the plan of an agent. Changes are checked against the plan with all changes
 * before them, even while the agent has not read those yet.
 */
import { InvalidArgumentError } from "commander";
import { offersPlan } from "#core/agent-settings.ts";
import { EXIT, GoaldError } from "#core/errors.ts";
import { isClosed, type PlanEdit, TASK_STATES, type TaskChange, type TaskState } from "#core/plan.ts";
import { type AgentState, isFinished } from "#core/state.ts";
import { countNoun, oneLine } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { type PlanView, planEdits, type TaskView } from "#views/plan-view.ts";
import { withReading } from "../agents.ts";
import { type CliContext, callsHere, formatCall } from "../context.ts";
import { AGENT, defineVerb, flag, HOST_CODES, NO_AGENT, type OptionValues, text, values } from "../verb.ts";
import { type Steered, tellDone, viewNow, viewWhenHeard, withAgent } from "../with-agent.ts";

type TaskSetting = Pick<Extract<PlanEdit, { kind: "set" }>, "id" | "state">;

const OPTIONS = {
  all: flag("-a, --all", "show every task of a large plan"),
  add: values("--add <goal>", "add a task with this goal; repeat it for several"),
  under: text("--under <id>", "add below this task (default: 0, the whole work)"),
  set: values(
    "--set <id=state>",
    `set the state of a task: ${TASK_STATES.join(", ")}; repeat it for several`,
    parseSetting,
  ),
  drop: values("--drop <id>", "abandon a task: it need not be done; repeat it for several"),
};
type PlanOptions = OptionValues<typeof OPTIONS>;

export const verb = defineVerb({
  description:
    "show an agent's plan as a tree of tasks, or change it; the agent reads the changes in its next step. Changes apply in this order: --set, --add, --drop",
  examples: [
    "goald plan chef",
    'goald plan chef --add "Ask Ann about the prices" --under 0.1 --drop 0.2',
    "goald plan chef --set 0.1=in_progress --json",
  ],
  arguments: [AGENT],
  options: OPTIONS,
  exitCodes: { ...NO_AGENT, ...HOST_CODES },
  run: ([agent = ""], options) =>
    withAgent(agent, options, async (steered) => {
      const { row, state, context } = steered;
      const edits = editsOf(options, context);
      const view = await withReading(context, (reading) => reading.plan(row.id));
      if (edits.length > 0) return sendEdits(edits, view, steered);
      if (context.output.json) context.output.data(context.redact(JSON.stringify(view)));
      else context.output.data(context.redact(describe(view, state, context, options.all === true)));
      return EXIT.ok;
    }),
});

/** Tasks that are drawn without --all. */
const MAX_DRAWN = 40;

async function sendEdits(edits: readonly PlanEdit[], view: PlanView, steered: Steered): Promise<number> {
  const { row, state, context, reach } = steered;
  // A wrong change is an error before any daemon is started.
  const expected = planEdits(state, view, edits);
  if (expected.length === 0) {
    const note = "Nothing changes: the tasks have these states already.";
    return tellDone({ agent: await viewNow(context, row), note }, context, { changes: [] });
  }
  const client = await reach();
  const key = `plan/${process.pid}/${new Date().toISOString()}`;
  const { agent, note, changes } = await client.editPlan(row.id, { edits, key });
  const { output, redact } = context;
  if (!output.json) for (const change of changes) output.data(redact(describeChange(change)));
  if (!output.json && view.plan === null && edits.some(({ kind }) => kind === "add"))
    output.say("From now on it can finish only when each task is verified or abandoned.");
  const heard = await viewWhenHeard(client, agent);
  return tellDone({ agent: heard, note: callsHere(context.home, note) }, context, { changes });
}

function editsOf({ add = [], under, set = [], drop = [] }: PlanOptions, { scrub }: CliContext): readonly PlanEdit[] {
  if (under !== undefined && add.length === 0)
    throw new GoaldError("GOALD_USAGE", "--under says where --add adds its tasks, and there is no --add.", {
      hint: 'Such as: goald plan chef --add "Ask Ann" --under 0.1',
    });
  return [
    ...set.map((setting): PlanEdit => ({ kind: "set", ...setting })),
    ...add.map((goal): PlanEdit => ({ kind: "add", parent: under ?? "0", goal: scrub(clean(goal).trim()) })),
    ...drop.map((id): PlanEdit => ({ kind: "set", id, state: "abandoned" })),
  ];
}

function parseSetting(given: string): TaskSetting {
  const [id = "", word = "", ...rest] = given.split("=");
  const state = TASK_STATES.find((each) => each === word);
  if (state !== undefined && id !== "" && rest.length === 0) return { id, state };
  throw new InvalidArgumentError(
    `Expected a task and a state, such as 0.1=verified. States: ${TASK_STATES.join(", ")}.`,
  );
}

function describe(view: PlanView, state: AgentState, { home }: CliContext, isAll: boolean): string {
  const { plan, current, turn, isRead } = view;
  if (plan === null) return describeNone(view, state, home);
  const { lines, hidden } = drawPlan(plan, current, isAll ? Number.POSITIVE_INFINITY : MAX_DRAWN);
  const all = listViews(plan);
  return [
    `${taskLine(state.name)} (${view.agent}), turn ${turn}${isFinished(state) ? ", finished" : ""}: ${countNoun(all.length, "task")}: ${countStates(all)}`,
    ...lines,
    ...(hidden > 0 ? [`See all ${all.length} tasks: ${formatCall(home, "plan", view.agent, "--all")}`] : []),
    ...(isRead ? [] : ["The agent has not read the last changes of this plan yet."]),
  ].join("\n");
}

function describeNone({ agent, turn }: PlanView, state: AgentState, home: CliContext["home"]): string {
  const { commands } = state.settings;
  const call = (...words: readonly string[]): string => formatCall(home, ...words);
  if (!offersPlan(commands))
    return `${agent} has no plan, and no commands for one (--commands ${commands}).\nOffer them: ${call("resume", agent, "--commands", `${commands},plan`)}`;
  if (isFinished(state))
    return `${agent} made no plan in turn ${turn}, which is finished.\nRequire one in its next turn: ${call("run", "--continue", agent, "-g", '"…"', "--plan", "required")}`;
  return `${agent} has no plan in turn ${turn}.\nRequire one: ${call("resume", agent, "--plan", "required")}\nBegin one for it: ${call("plan", agent, "--add", '"…"')}`;
}

function describeChange({ id, goal, from, to }: TaskChange): string {
  const how = from === null ? `added, ${stateInWords(to)}` : `${stateInWords(from)} -> ${stateInWords(to)}`;
  return `${id} ${taskLine(goal)} (${how})`;
}

const MARKS: Readonly<Record<TaskState, string>> = {
  open: "[ ]",
  in_progress: "[>]",
  completed: "[+]",
  verified: "[x]",
  abandoned: "[-]",
};

const stateInWords = (state: TaskState): string => state.replace("_", " ");

const taskLine = (text: string): string => oneLine(clean(text), 500);

/**
 * Draws at most `most` tasks, in a larger plan those near the current task first, then open ones near the root. Every
 * line has a mark of ASCII characters and the state in words, so that it needs neither colour nor a font. One more line
 * below a drawn task counts the others below it. `hidden`: tasks that have no line of their own.
 */
export function drawPlan(plan: TaskView, current: string | null, most: number) {
  const shown = chooseTasks(plan, current, most);
  const draw = (task: TaskView, indent: string): readonly string[] => {
    const here = task.id === current ? ", current" : "";
    const line = `${indent}${MARKS[task.state]} ${task.id} ${taskLine(task.goal)} (${stateInWords(task.state)}${here})`;
    const below = task.subtasks.flatMap((subtask) => (shown.has(subtask) ? draw(subtask, `${indent}  `) : []));
    const hidden = task.subtasks.filter((subtask) => !shown.has(subtask)).flatMap(listViews);
    const rest =
      hidden.length === 0 ? [] : [`${indent}  ... ${countNoun(hidden.length, "task")}: ${countStates(hidden)}`];
    return [line, ...below, ...rest];
  };
  return { lines: draw(plan, ""), hidden: listViews(plan).length - shown.size };
}

/** "3 open, 1 verified". */
function countStates(tasks: readonly Pick<TaskView, "state">[]): string {
  const counts = TASK_STATES.map((state) => [state, tasks.filter((task) => task.state === state).length] as const);
  return counts.flatMap(([state, count]) => (count > 0 ? [`${count} ${stateInWords(state)}`] : [])).join(", ");
}

const listViews = (task: TaskView): readonly TaskView[] => [task, ...task.subtasks.flatMap(listViews)];

/**
 * The tasks above the current one have the lowest rank, then the siblings of these, the deepest first. A task is chosen
 * only with the tasks above it, because its rank is not below theirs.
 */
function chooseTasks(plan: TaskView, current: string | null, most: number): ReadonlySet<TaskView> {
  const ranked: { readonly task: TaskView; readonly rank: number }[] = [];
  const path = current ?? "";
  const isAround = ({ id }: TaskView): boolean => id === path || path.startsWith(`${id}.`);
  const rankAll = (task: TaskView, above: number, isNear: boolean): void => {
    const far = isNear ? 1 + depthOf(path) - depthOf(task.id) : isClosed(task) ? 10_000 : 100;
    const rank = isAround(task) ? 0 : above + far;
    ranked.push({ task, rank });
    for (const subtask of task.subtasks) rankAll(subtask, rank, isAround(task) && task.id !== path);
  };
  rankAll(plan, 0, false);
  // The sort keeps the order of equals, in which a task comes before its subtasks.
  ranked.sort((a, b) => a.rank - b.rank);
  return new Set(ranked.slice(0, most).map(({ task }) => task));
}

const depthOf = (id: string): number => id.split(".").length;
