/** subagent.ts -- sub-agents: their events, and the folders of their files. */
import type { AgentSettings, ApprovalMode } from "./agent-settings.ts";
import type { Observation } from "./call.ts";
import { conflict, type GoaldError } from "./errors.ts";
import type { EventOf, OfCall } from "./event.ts";
import type { OutsideSource } from "./provenance.ts";
import type { Text } from "./text.ts";

/** Origin of a sub-agent, fixed at its creation. */
export interface Origin {
  /** Id of the parent; null for a fork, which has none. */
  readonly agent: string | null;
  /** Number of ancestors: 1 for a sub-agent of a person's agent. */
  readonly depth: number;
  /** Outside sources that the parent had received, so that the task may come from there. */
  readonly outside: readonly OutsideSource[];
}

/** Totals over an agent's life, sub-agents and reservations included. */
export interface Spending {
  readonly steps: number;
  readonly tokens: number;
  readonly usd: number;
}

/** An agent's total allowance; null for no limit. */
export type ChildLimits = Pick<AgentSettings, "stepLimit" | "tokenLimit" | "budgetUsd" | "deadline">;

/** A sub-agent, as far as the parent's log knows it. */
export interface ChildAccount {
  readonly name: string;
  /** One line. */
  readonly task: string;
  /** The call that last sent it a task. */
  readonly callId: string;
  readonly tasksSent: number;
  /** It has not finished its last task: its allowance counts as spent. */
  readonly isWorking: boolean;
  /** It has reported a pause, and works only when somebody continues it. */
  readonly isPaused: boolean;
  /** It was ended and has not confirmed it yet. */
  readonly isStopping: boolean;
  readonly limits: ChildLimits;
  /** Spending in its last report. */
  readonly spent: Spending;
}

/** Definition of a new sub-agent. */
export type Child = Omit<EventOf<"agent-created">, "type" | "checks" | "startedBy">;

/**
 *   finished   the turn is over, and the report has the answer
 *   paused     paused, with the reason; the rest of its allowance stays reserved
 *   ended      ended or removed; it does nothing more
 *   accounts   only the amount spent has changed
 */
export type ReportStatus = "finished" | "paused" | "ended" | "accounts";

/** A sub-agent's message to its parent. */
export interface Report {
  /** Id of the sub-agent. */
  readonly agent: string;
  readonly status: ReportStatus;
  /** Tasks received so far. An answer to an older task settles nothing. */
  readonly tasksReceived: number;
  readonly spent: Spending;
}

/**
 * Events between an agent and the agents that it starts. Each message follows from an event of the sender's log and is
 * committed with it (subagent-messages.ts), so that it arrives exactly once, also after a crash.
 */
export type SubagentEvent =
  // -- in the parent's log; `agent` is the sub-agent's id
  | ({
      readonly type: "agent-started";
      readonly agent: string;
      readonly task: string;
      readonly child: Child;
      /** Sources of the outside words that the call received; absent: none. */
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  | ({
      readonly type: "agent-told";
      readonly agent: string;
      readonly text: Text;
      /** Total allowance from now on. */
      readonly limits: ChildLimits;
      readonly outside?: readonly OutsideSource[];
    } & OfCall)
  | { readonly type: "agent-ended"; readonly agent: string; readonly reason: string }
  /** `observation` is absent when the following `command-finished` carries it, or when there is none. */
  | ({ readonly type: "agent-reported"; readonly observation?: Observation } & Report)
  // -- in the sub-agent's log
  | {
      readonly type: "task-received";
      readonly from: string;
      readonly text: Text;
      readonly outside: readonly OutsideSource[];
    };

export type SubagentMessage =
  /** From the parent: another task, with the new allowance. */
  | ({ readonly type: "task"; readonly limits: ChildLimits } & Omit<EventOf<"task-received">, "type">)
  /** The parent was stopped, or resumed. */
  | { readonly type: "halt"; readonly reason: string }
  | { readonly type: "go-on" }
  /** The parent's approval mode became stricter. A milder mode is not passed on. */
  | { readonly type: "policy"; readonly approve?: ApprovalMode; readonly commands?: string }
  /** The parent ends the sub-agent. */
  | { readonly type: "end"; readonly reason: string }
  /** `observation` is null when only the accounts changed. */
  | ({ readonly type: "report"; readonly observation: Observation | null } & Report);

export const AGENTS_FOLDER = "agents";

/**
 * Returns the folder below `workspace/`: `agents/<id>` in the folder of its parent. `parentFolder`: null for an agent
 * that no agent started.
 */
export const folderOf = (id: string, parentFolder: string | null): string =>
  parentFolder === null ? id : `${parentFolder}/${AGENTS_FOLDER}/${id}`;

/** Path of a sub-agent's file, relative to its parent's folder. */
export const pathInParent = (id: string, path: string): string => `${AGENTS_FOLDER}/${id}/${path}`;

/** Undefined for a path that is in no sub-agent's folder. `inner`: the path within that folder; empty for the folder itself. */
export function splitSubagentPath(path: string) {
  const [, child, inner = ""] = SUBAGENT_PATH.exec(path) ?? [];
  return child === undefined ? undefined : { child, inner };
}
const SUBAGENT_PATH = new RegExp(`^${AGENTS_FOLDER}/([^/]+)(?:/(.*))?$`);

/** The folder of the sub-agent whose file this is, at any depth; empty for a file that is in no sub-agent's folder. */
export function subagentFolderOf(file: string): string {
  const split = splitSubagentPath(file);
  if (!split?.inner) return "";
  const deeper = subagentFolderOf(split.inner);
  return deeper === "" ? `${AGENTS_FOLDER}/${split.child}` : pathInParent(split.child, deeper);
}

/** `children`: from the top. `isForced`: the caller removes without a question. */
export const hasChildrenError = (id: string, children: readonly string[], isForced = false): GoaldError =>
  conflict(
    `${id} has started ${children.length === 1 ? "an agent that still exists" : "agents that still exist"}: ${children.join(", ")}.`,
    `Remove what it has started first: goald rm ${isForced ? "-f " : ""}${children.toReversed().join(" ")}`,
  );
