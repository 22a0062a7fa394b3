/**
 * ps.ts -- `goald ps`: lists the agents of a home; --watch repeats the list.
 *
 * It lists unfinished agents, and those that finished or were stopped within a day; -a lists all. The table and the
 * JSON have the same rows. An agent whose log cannot be read is listed as `damaged`, and the exit code is then 1.
 */
import { fitLine } from "#cli/terminal/living-text.ts";
import { printNote, redrawScreen, renderTable, shortSpan } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { describeSource } from "#core/provenance.ts";
import { countNoun, oneLine } from "#core/text.ts";
import { systemClock } from "#util/clock.ts";
import { clean } from "#util/outside-text.ts";
import { type AgentView, dollars, FAILING, isOver } from "#views/agent-view.ts";
import { untilInterrupt, withReading } from "../agents.ts";
import { type CliContext, callsHere, formatCall, type GlobalOptions, openContext } from "../context.ts";
import { defineVerb, flag } from "../verb.ts";

export const verb = defineVerb({
  description: "list the agents of this home that are not over, and those that ended within a day",
  examples: ["goald ps", "goald ps -a --json", "goald ps --watch"],
  options: {
    all: flag("-a, --all", "list agents that ended earlier, too"),
    watch: flag("-w, --watch", "refresh the list every second, until Ctrl-C"),
  },
  exitCodes: { error: "the log of an agent is damaged" },
  run: (_args, options) => ps(options),
});

export interface PsOptions extends GlobalOptions {
  readonly all?: boolean;
  readonly watch?: boolean;
}

const RECENT_MS = 24 * 3_600_000;
const WATCH_EVERY_MS = 1_000;

export async function ps(options: PsOptions): Promise<number> {
  const context = await openContext(options);
  try {
    if (options.watch) return await watch(context, options);
    const listed = await list(context, options);
    show(listed, context);
    return listed.shown.some(isDamaged) ? EXIT.error : EXIT.ok;
  } finally {
    context.output.close();
  }
}

interface Listed {
  readonly shown: readonly AgentView[];
  readonly hidden: number;
  /** Sentences, such as about a daemon that does not answer. */
  readonly problems: readonly string[];
}

async function list(context: CliContext, { all = false }: PsOptions): Promise<Listed> {
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(callsHere(context.home, problem));
  const views = await withReading(context, (reading) => reading.agents(), { report });
  const oldest = systemClock.now().getTime() - RECENT_MS;
  const shown = views
    .filter(({ state, changedAt }) => all || !isOver(state) || Date.parse(changedAt) >= oldest)
    .sort(byInterest);
  return { shown: belowParents(shown), hidden: views.length - shown.length, problems };
}

/** Puts sub-agents directly below their parent. An agent whose parent is not listed keeps its place. */
function belowParents(views: readonly AgentView[]): readonly AgentView[] {
  const ids = new Set(views.map(({ id }) => id));
  const byParent = Map.groupBy(views, ({ parent }) => (parent !== null && ids.has(parent) ? parent : null));
  const nameSubAgents = (view: AgentView): readonly AgentView[] => [
    view,
    ...(byParent.get(view.id) ?? []).flatMap(nameSubAgents),
  ];
  return (byParent.get(null) ?? []).flatMap(nameSubAgents);
}

/** Unfinished agents come first, then the newest, because a small screen cuts off the end. */
function byInterest(a: AgentView, b: AgentView): number {
  const over = Number(isOver(a.state)) - Number(isOver(b.state));
  return over || Date.parse(b.createdAt) - Date.parse(a.createdAt);
}

/** True when the agent has work and a host runs it. */
export const isGoing = ({ state }: AgentView): boolean => state === "running" || state.startsWith("waiting");

const isDamaged = ({ state }: AgentView): boolean => state === "damaged";

function show(listed: Listed, { output, home }: CliContext): void {
  if (output.json) output.data(JSON.stringify({ agents: listed.shown }));
  else if (listed.shown.length > 0) output.data(tableOf(listed.shown));
  for (const problem of listed.problems) printNote(problem);
  if (output.json) return;
  const { shown, hidden } = listed;
  if (hidden > 0)
    output.say(`${countNoun(hidden, "agent")} that ended more than a day ago: ${formatCall(home, "ps", "-a")}`);
  else if (shown.length === 0) output.say(`No agents in ${home.root} yet. Set one up: ${formatCall(home, "run")}`);
  for (const { id, reason } of shown.filter(isDamaged)) output.say(clean(`${id} is damaged: ${reason}`));
  for (const { id, reason } of shown.filter(({ state }) => state === FAILING)) output.say(clean(`${id}: ${reason}`));
}

/** Adds the columns STARTED BY and OUTSIDE WORDS only if an agent has a parent or has read words from outside. */
function tableOf(views: readonly AgentView[]): string {
  const hasParents = views.some(({ parent }) => parent !== null);
  const hasOutside = views.some(({ received }) => received.length > 0);
  const rows = views.map((view) => {
    const [id = "", name = "", ...others] = rowOf(view);
    const outside = hasOutside ? [describeOutside(view)] : [];
    return [
      id,
      name,
      ...(hasParents ? [view.parent ?? ""] : []),
      ...others.slice(0, 1),
      ...outside,
      ...others.slice(1),
    ];
  });
  const startedBy = hasParents ? ["STARTED BY"] : [];
  const outside = hasOutside ? ["OUTSIDE WORDS"] : [];
  const head = ["ID", "NAME", ...startedBy, "STATE", ...outside, "STEP", "TOKENS", "COST", "CHANGED", "WORKSPACE"];
  return renderTable(head, rows);
}

/** "evil.example +3": the first source, and the number of further ones. */
function describeOutside({ received: [first, ...others] }: AgentView): string {
  if (!first) return "";
  return `${clean(oneLine(describeSource(first), 30))}${others.length > 0 ? ` +${others.length}` : ""}`;
}

function rowOf({
  id,
  name,
  state,
  stalledMs,
  step,
  tokens,
  costUsd,
  changedAt,
  workspace,
  lastCommand,
}: AgentView): readonly string[] {
  const pending = state === "waiting: approval" && lastCommand ? `${state} of ${clean(lastCommand)}` : state;
  const standing = stalledMs === null ? pending : `${pending}, stalled for ${shortSpan(stalledMs)}`;
  const ago = (at: string): string => `${shortSpan(systemClock.now().getTime() - Date.parse(at))} ago`;
  return [id, clean(oneLine(name, 30)), standing, `${step}`, `${tokens}`, dollars(costUsd), ago(changedAt), workspace];
}

/** A terminal is redrawn each second; other outputs get only changes. Ctrl-C ends it without an error. */
async function watch(context: CliContext, options: PsOptions): Promise<number> {
  const { stdout } = process;
  const onTerminal = stdout.isTTY === true && !context.output.json;
  let last = "";
  await untilInterrupt(WATCH_EVERY_MS, async () => {
    const listed = await list(context, options);
    if (onTerminal) {
      redrawScreen(screenOf(listed, context, stdout.columns || 80, stdout.rows || 24));
      return;
    }
    const now = JSON.stringify(listed);
    if (now !== last) show(listed, context);
    last = now;
  });
  return EXIT.ok;
}

function screenOf({ shown, hidden, problems }: Listed, { home }: CliContext, columns: number, rows: number): string {
  const head = `${systemClock.now().toISOString()}  ${home.root}  (Ctrl-C ends this)`;
  const table = shown.length === 0 ? ["No agents that are not over."] : tableOf(shown).split("\n");
  const more = hidden > 0 ? [`${hidden} ended more than a day ago: ${formatCall(home, "ps", "-a")}`] : [];
  const lines = [head, ...problems, ...table, ...more];
  const fitting =
    lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more lines`];
  return `${fitting.map((line) => fitLine(line, columns)).join("\n")}\n`;
}
