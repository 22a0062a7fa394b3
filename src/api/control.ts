/**
 * control.ts -- the requests by which clients control a host's agents; `Reading` (reading.ts) is the other half of the
 * local API.
 *
 * An agent is named by id, or by name: then the newest agent of that name is meant. Every method throws GoaldErrors:
 * GOALD_NOT_FOUND for an unknown agent or step, GOALD_CONFLICT for a request that the agent's state does not allow.
 */
import type { AgentSettings } from "#core/agent-settings.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { RestorePlan, RestoreRequest } from "#views/restore-plan.ts";
import type { PlanEdited, PlanEdits } from "./plan-schemas.ts";
import type {
  ApprovalAnswer,
  ControlResult,
  DaemonStatus,
  EventPage,
  ForkedAgent,
  ForkRequest,
  NewAgent,
  NextTurn,
  Removed,
  Words,
} from "./schemas.ts";
import type { Trust, Trusted } from "./trust-schemas.ts";

/** Raise it when a client of the old version would misunderstand the new one. */
export const PROTOCOL_VERSION = 1;

export interface Control {
  status(): Promise<DaemonStatus>;
  agents(): Promise<readonly AgentView[]>;
  agent(name: string): Promise<AgentView>;
  create(agent: NewAgent): Promise<AgentView>;
  say(name: string, words: Words): Promise<ControlResult>;
  /** Replaces the goals and their checks. */
  setGoals(name: string, goals: readonly string[], checks?: readonly GoalCheck[]): Promise<ControlResult>;
  /** Adds tasks to the plan and sets their states. Throws GOALD_USAGE for a change that does not fit the plan. */
  editPlan(name: string, edits: PlanEdits): Promise<PlanEdited>;
  changeSettings(name: string, settings: Partial<AgentSettings>): Promise<ControlResult>;
  /** Pauses after the current step; resolves at once. */
  pause(name: string, reason: string): Promise<ControlResult>;
  /**
   * Continues an agent after a pause, a stop, a limit or a crash, with changed settings. `record`: path of a recording
   * to continue.
   */
  resume(name: string, settings: Partial<AgentSettings>, how?: { readonly record?: string }): Promise<ControlResult>;
  /** Begins the next turn of a finished agent with these goals; changes the settings first. */
  beginTurn(name: string, turn: NextTurn): Promise<ControlResult>;
  /** Finishes the step and writes the report; cuts the step off after `graceMs`. Resolves when the agent has stopped. */
  stop(name: string, graceMs: number): Promise<ControlResult>;
  /** Aborts model calls and kills child processes. Resolves when the agent has stopped. */
  kill(name: string): Promise<ControlResult>;
  answer(name: string, answer: ApprovalAnswer): Promise<ControlResult>;
  /**
   * A person trusts words from outside: all that the agent has read until now, or those of files and placed folders. Throws
   * GOALD_NOT_FOUND for an unknown path.
   */
  trust(name: string, what: Trust): Promise<Trusted>;
  /** Throws GOALD_CONFLICT for a running agent, unless `force` kills it first. `files` removes its folder too. */
  remove(name: string, how: { readonly force: boolean; readonly files: boolean }): Promise<Removed>;
  /** Creates a paused agent with this one's state after a step. Throws GOALD_NOT_FOUND for an unknown step. */
  fork(name: string, how: ForkRequest): Promise<ForkedAgent>;
  /**
   * Restores files to their versions after a step; a person's edits become versions first. Clones are named and not touched.
   * Throws GOALD_NOT_FOUND for an unknown step or path, and GOALD_CONFLICT for an agent at work.
   */
  restore(name: string, request: RestoreRequest): Promise<RestorePlan>;
  /** Changes an agent's memory, or the shared memory of the home (`shared`). Behaves as `Store.curate`. */
  changeMemory(name: string, changes: readonly MemoryChange[], key: string): Promise<readonly MemoryChanged[]>;
  /** Returns committed events after `after`, oldest first, at most `limit`. Works until the host is closed. */
  page(name: string, after: number, limit: number): Promise<EventPage>;
  /**
   * Resolves when the log is longer than `after`, the agent is removed, or the signal is aborted. It does not reject
   * then.
   */
  whenLonger(name: string, after: number, signal: AbortSignal): Promise<void>;
  /**
   * Counts a follower of the agent (by id) until the returned function is called. `hold`: it is the terminal of an agent
   * that is not in the background: one that a death of the host interrupted goes on, without an `agent-resumed`. Such an
   * agent pauses half a minute after its last follower has gone. `fail` is called for a terminal whose agent's run has failed,
   * as on a full disk.
   */
  addFollower(agent: string, hold: boolean, fail: (error: Error) => void): () => void;
  /** The replies that are arriving now, by agent id. */
  readonly live: LiveText;
  /**
   * Reads settings, commands and prompts again; agents use them from their next run on. Returns the changes, a sentence
   * each.
   */
  reload(): Promise<readonly string[]>;
  /** Starts the shutdown: finishes steps, and cuts them off after `graceMs`. Resolves at once. */
  shutdown(graceMs: number): Promise<void>;
}

/** The received part of the reply to the request of event `seq`. */
export interface LiveReply {
  readonly seq: number;
  readonly text: string;
}

export interface LiveText {
  /** Returns undefined when no reply is arriving. */
  of(agent: string): LiveReply | undefined;
  /** Calls `onMore` when more has arrived. The returned function ends the subscription. */
  listen(agent: string, onMore: () => void): () => void;
}
