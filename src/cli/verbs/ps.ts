/**
 * ps.ts -- `goald ps`: lists the agents of a home; --watch repeats the list. It lists unfinished agents, and those that
 * finished or were stopped within a day; -a lists all. The table and the JSON have the same rows. An agent whose log
 * cannot be read is listed as `damaged`, and the exit code is then 1.
 */
import { columnWidths, fitLine } from "#cli/terminal/living-text.ts";
import { localTime, paint, printNote, redrawScreen, renderTable, type Style, shortSpan } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { describeSource } from "#core/provenance.ts";
import { countNoun, oneLine, withCommas } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { type AgentView, dollars, FAILING, isOver, RATE_LIMITED } from "#views/agent-view.ts";
import { untilInterrupt, withReading } from "../agents.ts";
import { type CliContext, callsHere, formatCall, openContext } from "../context.ts";
import { defineVerb, flag, type OptionValues, text } from "../verb.ts";

const OPTIONS = {
  all: flag("-a, --all", "list agents that ended earlier, too"),
  watch: flag("-w, --watch", "refresh the list every second, until q or Ctrl-C"),
  output: {
    ...text("-o, --output <form>", "wide: also name, parent, outside words, tokens and folder"),
    choices: ["wide"] as const,
  },
};

export const verb = defineVerb({
  description: "list the agents of this home that are not over, and those that ended within a day",
  examples: ["goald ps", "goald ps -o wide", "goald ps -a --json", "goald ps --watch"],
  options: OPTIONS,
  exitCodes: { error: "the log of an agent is damaged" },
  run: (_args, options) => ps(options),
});

type PsOptions = OptionValues<typeof OPTIONS>;

const RECENT_MS = 24 * 3_600_000;
const WATCH_EVERY_MS = 1_000;

export async function ps(options: PsOptions): Promise<number> {
  using context = await openContext(options);
  if (options.watch) return await watch(context, options);
  const listed = await list(context, options);
  show(listed, context, options);
  return listed.shown.some(isDamaged) ? EXIT.error : EXIT.ok;
}

type Listed = Awaited<ReturnType<typeof list>>;

/** `problems`: sentences, such as about a daemon that does not answer. */
async function list(context: CliContext, { all = false }: PsOptions) {
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(callsHere(context.home, problem));
  const views = await withReading(context, (reading) => reading.agents(), { report });
  const oldest = systemClock.now().getTime() - RECENT_MS;
  const shown = views
    .filter(({ state, changedAt }) => all || !isOver(state) || Date.parse(changedAt) >= oldest)
    .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
  // The newest comes first in each group, because a small screen cuts off the end.
  const grouped = GROUPS.flatMap((group) => belowParents(shown.filter((view) => groupOf(view) === group)));
  return { shown: grouped, hidden: views.length - shown.length, problems };
}

/** Puts sub-agents directly below their parent. An agent whose parent is not listed keeps its place. */
function belowParents(views: readonly AgentView[]): readonly AgentView[] {
  const ids = new Set(views.map(({ id }) => id));
  const byParent = Map.groupBy(views, ({ parent }) => (parent !== null && ids.has(parent) ? parent : null));
  const listWithSubAgents = (view: AgentView): readonly AgentView[] => [
    view,
    ...(byParent.get(view.id) ?? []).flatMap(listWithSubAgents),
  ];
  return (byParent.get(null) ?? []).flatMap(listWithSubAgents);
}

const GROUPS = ["Running", "Waiting", "Ended"] as const;

function groupOf({ state }: AgentView): (typeof GROUPS)[number] {
  if (state === "running") return "Running";
  return isOver(state) ? "Ended" : "Waiting";
}

const isDamaged = ({ state }: AgentView): boolean => state === "damaged";

function show(listed: Listed, { output, home }: CliContext, options: PsOptions): void {
  if (!output.printJson({ agents: listed.shown }) && listed.shown.length > 0)
    (options.output === "wide" ? output.page : output.styled)(renderAgents(listed.shown, output, options));
  for (const problem of listed.problems) printNote(problem);
  if (output.json) return;
  const { shown, hidden } = listed;
  if (hidden > 0)
    output.say(`${countNoun(hidden, "agent")} that ended more than a day ago: ${formatCall(home, "ps", "-a")}`);
  else if (shown.length === 0) output.say(`No agents in ${home.root} yet. Set one up: ${formatCall(home, "run")}`);
  for (const { id, reason } of shown.filter(isDamaged)) output.say(clean(`${id} is damaged: ${reason}`));
  for (const { id, reason } of shown.filter(({ state }) => state === FAILING)) output.say(clean(`${id}: ${reason}`));
}

type Screen = Pick<CliContext["output"], "columns" | "colour">;

/** On a terminal rows fit into it, and each group has its title: ids and states are shortened; a `wide` row is broken when it is shown. */
export function renderAgents(
  views: readonly AgentView[],
  { columns, colour }: Screen,
  options: Pick<PsOptions, "output">,
): string {
  const isWide = options.output === "wide";
  const space = isWide ? Number.POSITIVE_INFINITY : columns;
  const rest = views.map((view) => [...cellsOf(view, space), ...(isWide ? moreOf(view) : [])]);
  const head = [...HEAD, Number.isFinite(space) ? "AGE" : "CHANGED", ...(isWide ? MORE : [])];
  const rowsIn = (form: StateForm, idWidth: number) =>
    views.map((view, at) => [fitLine(view.id, idWidth), stateOf(view, form), ...(rest[at] ?? [])]);
  const fits = (...given: Parameters<typeof rowsIn>): boolean =>
    columnWidths(head, rowsIn(...given)).reduce((sum, width) => sum + width + 2, -2) <= space;
  const form = fits("whole", Number.POSITIVE_INFINITY) ? "whole" : fits("plain", LEAST_ID) ? "plain" : "short";
  const painted = rowsIn(form, Number.POSITIVE_INFINITY).map(([id = "", state = "", ...more], at) => {
    const style = views[at] && styleOf(views[at]);
    return [id, style ? paint(colour, style, state) : state, ...more];
  });
  const [titles = "", ...lines] = renderTable(head, painted, space).split("\n");
  if (columns === Number.POSITIVE_INFINITY) return [titles, ...lines].join("\n");
  const grouped = GROUPS.flatMap((group) => {
    const own = lines.filter((_line, at) => views[at] && groupOf(views[at]) === group);
    return own.length === 0 ? [] : [paint(colour, "bold", `${group} (${own.length})`), ...own];
  });
  return [paint(colour, "dim", titles), ...grouped].join("\n");
}

const HEAD = ["ID", "STATE", "STEP", "COST"];
/** Shorter ids than this cost more than the word `waiting`, which the title of the group has too. */
const LEAST_ID = 12;
const MORE = ["TOKENS", "NAME", "STARTED BY", "OUTSIDE WORDS", "WORKSPACE"];

/** `whole`: with the command that waits for an approval; `short`: without the word `waiting`. */
type StateForm = "whole" | "plain" | "short";

function stateOf({ state, stalledMs, now: { command }, until }: AgentView, form: StateForm): string {
  const shown = form === "short" ? state.replace("waiting: ", "") : state;
  const left = until === null ? 0 : Date.parse(until) - systemClock.now().getTime();
  if (state === RATE_LIMITED && left > 0) return `${shown} (${shortSpan(left + 999)})`;
  if (state === "waiting: approval" && form === "whole") return `${shown} of ${clean(command)}`;
  return stalledMs === null ? shown : `${shown}, stalled for ${shortSpan(stalledMs)}`;
}

function styleOf({ state, stalledMs }: AgentView): Style | undefined {
  if (state === "damaged" || state === FAILING || stalledMs !== null) return "red";
  if (state === "running") return "green";
  if (state === "completed" || isOver(state)) return "dim";
  return state === "waiting: approval" || state === "waiting: person" || state.startsWith("paused") ? "yellow" : "cyan";
}

const cellsOf = (view: AgentView, space: number): readonly string[] => [
  `${view.step}`,
  dollars(view.costUsd),
  `${shortSpan(systemClock.now().getTime() - Date.parse(view.changedAt))}${Number.isFinite(space) ? "" : " ago"}`,
];

const moreOf = (view: AgentView): readonly string[] => [
  withCommas(view.tokens),
  clean(oneLine(view.name, 30)),
  view.parent ?? "",
  describeOutside(view),
  view.workspace,
];

/** "evil.example +3": the first source, and the number of further ones. */
function describeOutside({ received: [first, ...others] }: AgentView): string {
  if (!first) return "";
  return `${clean(oneLine(describeSource(first), 30))}${others.length > 0 ? ` +${others.length}` : ""}`;
}

/** A terminal is redrawn each second; other outputs get only changes. `q` and Ctrl-C end it without an error. */
async function watch(context: CliContext, options: PsOptions): Promise<number> {
  const { stdout } = process;
  const { output } = context;
  const onTerminal = stdout.isTTY === true && !output.json;
  const leaving = new AbortController();
  const input = output.interactive ? output.input() : undefined;
  input?.watchTyping(() => {
    if (input.typed.includes("q")) leaving.abort();
  });
  let last = "";
  const look = async (): Promise<void> => {
    const listed = await list(context, options);
    if (onTerminal) {
      const columns = stdout.columns || 80;
      redrawScreen(screenOf(listed, context, { columns, colour: output.colour, rows: stdout.rows || 24 }, options));
      return;
    }
    const now = JSON.stringify(listed);
    if (now !== last) show(listed, context, options);
    last = now;
  };
  await untilInterrupt(WATCH_EVERY_MS, look, leaving.signal);
  return EXIT.ok;
}

function screenOf(
  { shown, hidden, problems }: Listed,
  { home }: CliContext,
  { rows, ...screen }: Screen & { readonly rows: number },
  options: PsOptions,
): string {
  const head = `${localTime(systemClock.now().toISOString(), systemClock.now())}  ${home.root}  (q leaves)`;
  const table =
    shown.length === 0 ? ["No agents that are not over."] : renderAgents(shown, screen, options).split("\n");
  const more = hidden > 0 ? [`${hidden} ended more than a day ago: ${formatCall(home, "ps", "-a")}`] : [];
  const lines = [head, ...problems, ...table, ...more];
  const fitting =
    lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more lines`];
  return `${fitting.map((line) => fitLine(line, screen.columns)).join("\n")}\n`;
}
