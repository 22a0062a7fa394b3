/** nested-rows.ts -- the tree of a step's nested work as a bounded list: a row for each piece, repeats in one row. Pure. */
import {
  amount,
  count,
  described,
  listOf,
  nullable,
  oneOf,
  open,
  ordinal,
  type Static,
  text,
  time,
} from "#util/schema.ts";
import type { NestedNode } from "./nested-work.ts";

export const NestedRow = open({
  callId: text,
  lastCallId: described(text, "Id of the last call of a row that stands for several; else `callId`."),
  parent: described(
    nullable(text),
    "Id of the row, or of the step's command, that it is a part of; null for a further call of the reply.",
  ),
  depth: described(count, "Number of rows that it is inside of."),
  kind: oneOf("call", "sub-task", "step"),
  step: ordinal,
  command: described(text, "Name of the command; empty for a sub-task and a step."),
  about: described(text, "Arguments or task in one line; of the first call in a row that stands for several."),
  times: described(ordinal, "Number of calls in a row of the same command, with the same status and nothing inside."),
  status: described(nullable(text), "Null while it has not ended."),
  problem: described(text, "Why it has no result; empty when it has one."),
  startedAt: time,
  durationMs: described(
    nullable(count),
    "The sum of a row that stands for several. A call's time includes what is inside.",
  ),
  tokens: described(count, "With everything inside."),
  costUsd: described(nullable(amount), "With everything inside; null when a part has no known price."),
});
export type NestedRow = Static<typeof NestedRow>;

export const NestedView = open({
  rows: described(
    listOf(NestedRow),
    "Further calls of the reply, and what is inside the calls: at most 200 rows, in order.",
  ),
  leftOut: described(
    listOf(open({ command: text, times: ordinal })),
    "Further calls, sub-tasks and steps without a row, by command.",
  ),
  calls: described(count, "All calls in it, with a row or not."),
  steps: described(count, "Steps that sub-tasks took."),
  tokens: count,
  costUsd: nullable(amount),
});
export type NestedView = Static<typeof NestedView>;

const MAX_ROWS = 200;
/** This many equal calls one after the other become one row. */
const MIN_REPEATS = 3;

/** `roots`: the calls of the step. The first one has no row of its own. */
export function listNested([first, ...further]: readonly NestedNode[]): NestedView {
  const all: readonly Group[] = [
    ...(first ? listGroups(first.inside, first.callId, 0) : []),
    ...listGroups(further, null, 0),
  ];
  const rows = all.slice(0, MAX_ROWS).map(rowOf);
  const pieces = all.flatMap(({ nodes }) => nodes);
  return {
    rows,
    leftOut: countByCommand(all.slice(MAX_ROWS)),
    calls: pieces.filter(({ kind }) => kind === "call").length,
    steps: pieces.filter(({ kind }) => kind === "step").length,
    tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: addCosts(pieces.map(({ costUsd }) => costUsd)),
  };
}

interface Group {
  readonly nodes: readonly [NestedNode, ...NestedNode[]];
  readonly parent: string | null;
  readonly depth: number;
}

/** Parents before what is inside them. */
function listGroups(nodes: readonly NestedNode[], parent: string | null, depth: number): readonly Group[] {
  return groupRepeats(nodes).flatMap((group) => [
    { nodes: group, parent, depth },
    ...(group.length === 1 ? listGroups(group[0].inside, group[0].callId, depth + 1) : []),
  ]);
}

function groupRepeats(nodes: readonly NestedNode[]): readonly Group["nodes"][] {
  const runs: [NestedNode, ...NestedNode[]][] = [];
  for (const node of nodes) {
    const last = runs.at(-1);
    if (last && isRepeat(last[0], node)) last.push(node);
    else runs.push([node]);
  }
  return runs.flatMap((run) => (run.length >= MIN_REPEATS ? [run] : run.map((node): Group["nodes"] => [node])));
}

const isRepeat = (one: NestedNode, other: NestedNode): boolean =>
  [one, other].every(({ kind, inside }) => kind === "call" && inside.length === 0) &&
  one.command === other.command &&
  one.status === other.status &&
  one.problem === other.problem;

function rowOf({ nodes, parent, depth }: Group): NestedRow {
  const [{ callId, kind, step, command, about, status, problem, startedAt }] = nodes;
  const durations = nodes.map(({ durationMs }) => durationMs);
  const durationMs = durations.some((each) => each === null)
    ? null
    : durations.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const totals = nodes.map(totalOf);
  return {
    ...{ callId, lastCallId: nodes.at(-1)?.callId ?? callId, parent, depth, kind, step, command, about },
    ...{ times: nodes.length, status, problem, startedAt, durationMs },
    tokens: totals.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: addCosts(totals.map(({ costUsd }) => costUsd)),
  };
}

function totalOf({ tokens, costUsd, inside }: NestedNode): Pick<NestedNode, "tokens" | "costUsd"> {
  const below = inside.map(totalOf);
  return {
    tokens: below.reduce((sum, each) => sum + each.tokens, tokens),
    costUsd: addCosts([costUsd, ...below.map((each) => each.costUsd)]),
  };
}

const addCosts = (costs: readonly (number | null)[]): number | null =>
  costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);

function countByCommand(groups: readonly Group[]): NestedView["leftOut"] {
  const times = new Map<string, number>();
  for (const { nodes } of groups) {
    const [{ command, kind }] = nodes;
    const name = command === "" ? kind : command;
    times.set(name, (times.get(name) ?? 0) + nodes.length);
  }
  return [...times].map(([command, times]) => ({ command, times }));
}
