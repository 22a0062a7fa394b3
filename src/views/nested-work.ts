/**
 * nested-work.ts -- gathers the tree of what happened inside the calls of one step: nested calls, sub-tasks and their steps. Pure.
 *
 * Ids are paths (core/call.ts), so each event names its place in the tree.
 */
import type { CommandCall } from "#core/call.ts";
import { describeSaved } from "#core/command-names.ts";
import type { EventOf, ModelSpending, RecordedEvent } from "#core/event.ts";
import { headOf, oneLine } from "#core/text.ts";

export interface NestedNode {
  readonly kind: "call" | "sub-task" | "step";
  readonly callId: string;
  readonly step: number;
  /** Name of the command; empty for a sub-task and a step. */
  readonly command: string;
  /** The arguments, the task, or the thought of a step, in one line. */
  readonly about: string;
  /** Null while it has not ended. */
  status: string | null;
  /** Why it has no result; empty when it has one. */
  problem: string;
  readonly startedAt: string;
  durationMs: number | null;
  /** Its own, without what is inside. */
  tokens: number;
  /** Null when a part has no known price. */
  costUsd: number | null;
  readonly inside: NestedNode[];
}

const MAX_ABOUT_CHARS = 120;
const MAX_PROBLEM_CHARS = 300;

export class NestedWork {
  /** Calls of the step itself: the first one, then further calls of the reply. */
  readonly #roots = new Map<string, NestedNode>();
  readonly #nodes = new Map<string, NestedNode>();
  readonly #step: number;

  constructor(step: number) {
    this.#step = step;
  }

  get roots(): readonly NestedNode[] {
    return [...this.#roots.values()];
  }

  /** Receives every event of the log in order. */
  add(event: RecordedEvent): void {
    if (!("callId" in event) || typeof event.callId !== "string") return;
    const node = this.#nodes.get(event.callId);
    switch (event.type) {
      case "command-requested":
        if (!node) this.#addCall(event);
        break;
      case "frame-pushed":
        if (event.kind === "run") this.#addBelow(event, "sub-task", oneLine(headOf(event.task ?? ""), MAX_ABOUT_CHARS));
        break;
      case "frame-popped":
        if (node?.kind === "sub-task") endSubtask(node, event);
        break;
      case "model-asked":
        if (!node) this.#addBelow(event, "step", "");
        break;
      case "model-replied":
        if (node) endNode(node, { ...event, status: "ok" }, { ...event, costUsd: event.costUsd ?? null });
        break;
      case "model-failed":
        if (node) endNode(node, { status: "failed", problem: event.message }, event.spent);
        break;
      case "command-waiting":
        if (node && event.spent) spend(node, event.spent);
        break;
      case "command-denied":
        if (node) endNode(node, { status: "denied", problem: event.reason, durationMs: 0 });
        break;
      case "command-finished":
        if (node) endCall(node, event);
        break;
      default:
    }
  }

  #addCall(event: EventOf<"command-requested"> & RecordedEvent): void {
    const about = describeArgs(event.call);
    if (event.step !== this.#step || isNested(event.callId, this.#roots)) {
      this.#addBelow(event, "call", about, event.call.name);
      return;
    }
    const root = createNode(event, "call", about, event.call.name);
    this.#roots.set(event.callId, root);
    this.#nodes.set(event.callId, root);
  }

  #addBelow(event: Placed, kind: NestedNode["kind"], about: string, command = ""): void {
    const above = this.#nodes.get(idAbove(event.callId, kind));
    if (!above) return;
    const node = createNode(event, kind, about, command);
    above.inside.push(node);
    this.#nodes.set(event.callId, node);
  }
}

type Placed = { readonly callId: string; readonly step: number; readonly at: string };

const createNode = (
  { callId, step, at }: Placed,
  kind: NestedNode["kind"],
  about: string,
  command: string,
): NestedNode => ({
  ...{ kind, callId, step, command, about, status: null, problem: "", startedAt: at, durationMs: null },
  ...{ tokens: 0, costUsd: 0, inside: [] },
});

/** A call of a sub-task is inside the step that asked for it: `c7.2.c1-2` is in `c7.2.m1`. */
function idAbove(callId: string, kind: NestedNode["kind"]): string {
  const end = callId.lastIndexOf(".");
  const above = callId.slice(0, Math.max(0, end));
  const [, asked] = kind === "call" ? (/^c(\d+)(?:-\d+)?$/.exec(callId.slice(end + 1)) ?? []) : [];
  return asked === undefined ? above : `${above}.m${asked}`;
}

const isNested = (callId: string, roots: ReadonlyMap<string, unknown>): boolean =>
  roots.keys().some((root) => callId.startsWith(`${root}.`));

function endCall(node: NestedNode, { observation, durationMs, spent }: EventOf<"command-finished">): void {
  const { status, text } = observation;
  endNode(node, { status, durationMs, ...(status === "ok" ? {} : { problem: headOf(text) }) }, spent);
}

function endSubtask(node: NestedNode, { problem, at }: EventOf<"frame-popped"> & RecordedEvent): void {
  const durationMs = Math.max(0, Date.parse(at) - Date.parse(node.startedAt));
  endNode(node, { status: problem ? "failed" : "ok", durationMs, ...(problem ? { problem: problem.text } : {}) });
}

interface End {
  readonly status: string;
  readonly problem?: string;
  readonly durationMs?: number;
}

function endNode(node: NestedNode, { status, problem = "", durationMs }: End, spent?: Spent): void {
  node.status = status;
  node.problem = oneLine(problem, MAX_PROBLEM_CHARS);
  node.durationMs = durationMs ?? node.durationMs;
  if (spent) spend(node, spent);
}

type Spent = Pick<ModelSpending, "usage" | "costUsd">;

function spend(node: NestedNode, { usage, costUsd }: Spent): void {
  node.tokens += usage.inputTokens + usage.outputTokens;
  node.costUsd = node.costUsd === null || costUsd === null ? null : node.costUsd + costUsd;
}

/** JSON of the arguments; texts within them keep only their beginning. */
function describeArgs(call: CommandCall): string {
  if (Object.keys(call.args).length === 0) return "";
  return oneLine(describeSaved(call) ?? JSON.stringify(call.args, shorten), MAX_ABOUT_CHARS);
}
const shorten = (_name: string, value: unknown): unknown =>
  typeof value === "string" && value.length > 60 ? `${value.slice(0, 60).toWellFormed()}…` : value;
