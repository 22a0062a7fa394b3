/** nested.ts -- the tree of a step's nested work as a bounded list: a row for each piece, repeats in one row. Pure. */
import type { CommandCall } from "#core/call.ts";
import { describeSaved } from "#core/command.ts";
import type { ModelSpending, RecordedEvent } from "#core/event.ts";
import { headOf, oneLine } from "#core/text.ts";
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
    costUsd: addKnown(pieces.map(({ costUsd }) => costUsd)),
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
  const totals = nodes.map(totalOf);
  return {
    callId,
    lastCallId: nodes.at(-1)?.callId ?? callId,
    parent,
    depth,
    kind,
    step,
    command,
    about,
    times: nodes.length,
    status,
    problem,
    startedAt,
    durationMs: addKnown(nodes.map(({ durationMs }) => durationMs)),
    tokens: totals.reduce((sum, { tokens }) => sum + tokens, 0),
    costUsd: addKnown(totals.map(({ costUsd }) => costUsd)),
  };
}

function totalOf({ tokens, costUsd, inside }: NestedNode): Pick<NestedNode, "tokens" | "costUsd"> {
  const below = inside.map(totalOf);
  return {
    tokens: below.reduce((sum, each) => sum + each.tokens, tokens),
    costUsd: addKnown([costUsd, ...below.map((each) => each.costUsd)]),
  };
}

/** Null when a part is not known. */
export const addKnown = (parts: readonly (number | null)[]): number | null =>
  parts.reduce((sum, part) => (sum === null || part === null ? null : sum + part), 0);

function countByCommand(groups: readonly Group[]): NestedView["leftOut"] {
  const times = new Map<string, number>();
  for (const { nodes } of groups) {
    const [{ command, kind }] = nodes;
    const name = command === "" ? kind : command;
    times.set(name, (times.get(name) ?? 0) + nodes.length);
  }
  return [...times].map(([command, times]) => ({ command, times }));
}

/** `about`: of a step its thought. Tokens and cost are its own, without what is inside. */
export interface NestedNode extends Pick<NestedRow, "kind" | "callId" | "step" | "command" | "about" | "startedAt"> {
  status: string | null;
  problem: string;
  durationMs: number | null;
  tokens: number;
  costUsd: number | null;
  readonly inside: NestedNode[];
}

const MAX_ABOUT_CHARS = 120;
const MAX_PROBLEM_CHARS = 300;

/**
 * Gathers the tree of what happened inside the calls of one step: nested calls, sub-tasks and their steps. Pure. Ids
 * are paths (core/call.ts), so each event names its place in the tree.
 */
export class NestedTree {
  /** Calls of the step itself: the first one, then further calls of the reply. */
  readonly roots: NestedNode[] = [];
  readonly #nodes = new Map<string, NestedNode>();
  readonly #step: number;

  constructor(step: number) {
    this.#step = step;
  }

  /** Receives every event of the log in order. */
  add(event: RecordedEvent): void {
    if (!("callId" in event) || typeof event.callId !== "string") return;
    const node = this.#nodes.get(event.callId);
    if (node) noteEnd(node, event);
    else if (event.type === "command-requested")
      this.#addNode(event, "call", describeArgs(event.call), event.call.name);
    else if (event.type === "frame-pushed" && event.kind === "run")
      this.#addNode(event, "sub-task", oneLine(headOf(event.task ?? ""), MAX_ABOUT_CHARS));
    else if (event.type === "model-asked") this.#addNode(event, "step", "");
  }

  #addNode({ callId, step, at }: Placed, kind: NestedNode["kind"], about: string, command = ""): void {
    const isRoot = kind === "call" && step === this.#step && !callId.includes(".");
    const siblings = isRoot ? this.roots : this.#nodes.get(idAbove(callId, kind))?.inside;
    if (!siblings) return;
    const nothing = { status: null, problem: "", durationMs: null, tokens: 0, costUsd: 0 } as const;
    const node = { kind, callId, step, command, about, startedAt: at, ...nothing, inside: [] };
    siblings.push(node);
    this.#nodes.set(callId, node);
  }
}

type Placed = { readonly callId: string; readonly step: number; readonly at: string };

/** A call of a sub-task is inside the step that asked for it: `c7.2.c1-2` is in `c7.2.m1`. */
function idAbove(callId: string, kind: NestedNode["kind"]): string {
  const end = callId.lastIndexOf(".");
  const above = callId.slice(0, Math.max(0, end));
  const [, asked] = kind === "call" ? (/^c(\d+)(?:-\d+)?$/.exec(callId.slice(end + 1)) ?? []) : [];
  return asked === undefined ? above : `${above}.m${asked}`;
}

interface End {
  readonly status?: string;
  readonly problem?: string;
  readonly durationMs?: number;
  readonly spent?: Pick<ModelSpending, "usage" | "costUsd"> | undefined;
}

/** How the event ends the piece, or what was spent before a wait. */
function endOf({ kind, startedAt }: NestedNode, event: RecordedEvent): End {
  switch (event.type) {
    case "frame-popped": {
      if (kind !== "sub-task") return {};
      const durationMs = Math.max(0, Date.parse(event.at) - Date.parse(startedAt));
      return { status: event.problem ? "failed" : "ok", problem: event.problem?.text ?? "", durationMs };
    }
    case "model-replied":
      return { ...event, status: "ok", problem: "", spent: { ...event, costUsd: event.costUsd ?? null } };
    case "model-failed":
      return { ...event, status: "failed", problem: event.message };
    case "command-waiting":
      return { spent: event.spent };
    case "command-denied":
      return { status: "denied", problem: event.reason, durationMs: 0 };
    case "command-finished": {
      const { status, text } = event.observation;
      return { ...event, status, problem: status === "ok" ? "" : headOf(text) };
    }
    default:
      return {};
  }
}

function noteEnd(node: NestedNode, event: RecordedEvent): void {
  const { status = node.status, problem = node.problem, durationMs = node.durationMs, spent } = endOf(node, event);
  node.status = status;
  node.problem = oneLine(problem, MAX_PROBLEM_CHARS);
  node.durationMs = durationMs;
  if (!spent) return;
  node.tokens += spent.usage.inputTokens + spent.usage.outputTokens;
  node.costUsd = addKnown([node.costUsd, spent.costUsd]);
}

/** JSON of the arguments; texts within them keep only their beginning. */
function describeArgs(call: CommandCall): string {
  if (Object.keys(call.args).length === 0) return "";
  return oneLine(describeSaved(call) ?? JSON.stringify(call.args, shorten), MAX_ABOUT_CHARS);
}
const shorten = (_name: string, value: unknown): unknown =>
  typeof value === "string" && value.length > 60 ? `${value.slice(0, 60).toWellFormed()}…` : value;
