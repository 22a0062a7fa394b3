/**
 * control.ts -- what others may ask a host to do with its agents; `Reading` (reading.ts) is the other half of the local API.
 *
 * Agents are named by id, or by name: then the newest agent of that name is meant. Every method throws GoaldErrors:
 * GOALD_NOT_FOUND for an unknown agent or step, GOALD_CONFLICT for a request that the agent's state does not allow.
 */
import type { AgentSettings } from "#core/agent-settings.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory-row.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { LiveText } from "./live-text.ts";
import type {
  ApprovalAnswer,
  ControlResult,
  DaemonStatus,
  EventPage,
  ForkedAgent,
  ForkRequest,
  NewAgent,
  Removed,
  Words,
} from "./schemas.ts";

export type { ApprovalAnswer, ControlResult, DaemonStatus, EventPage, ForkedAgent, ForkRequest, NewAgent };

/** Raised when a client of the old version would misunderstand the new one. */
export const PROTOCOL_VERSION = 1;

export interface Control {
  status(): Promise<DaemonStatus>;
  agents(): Promise<readonly AgentView[]>;
  agent(name: string): Promise<AgentView>;
  create(agent: NewAgent): Promise<AgentView>;
  say(name: string, words: Words): Promise<ControlResult>;
  setGoals(name: string, goals: readonly string[]): Promise<ControlResult>;
  changeSettings(name: string, settings: Partial<AgentSettings>): Promise<ControlResult>;
  /** The step under way is finished; resolves at once. */
  pause(name: string, reason: string): Promise<ControlResult>;
  /** After a pause, a stop, a limit or a crash. Changes the settings first. `record`: path of a recording to continue. */
  resume(name: string, settings: Partial<AgentSettings>, how?: { readonly record?: string }): Promise<ControlResult>;
  /** Finishes the step and writes the report; cuts the step off after `graceMs`. Resolves when the agent has stopped. */
  stop(name: string, graceMs: number): Promise<ControlResult>;
  /** Aborts model calls and kills child processes. Resolves when the agent has stopped. */
  kill(name: string): Promise<ControlResult>;
  answer(name: string, answer: ApprovalAnswer): Promise<ControlResult>;
  /** Throws GOALD_CONFLICT for a running agent, unless `force` kills it first. `files` removes its folder too. */
  remove(name: string, how: { readonly force: boolean; readonly files: boolean }): Promise<Removed>;
  /** A new, paused agent that begins where this one was after a step. Throws GOALD_NOT_FOUND for an unknown step. */
  fork(name: string, how: ForkRequest): Promise<ForkedAgent>;
  /** Changes an agent's memory, or the memory that all agents share (`shared`). As `Store.curate`. */
  changeMemory(name: string, changes: readonly MemoryChange[], key: string): Promise<readonly MemoryChanged[]>;
  /** Committed events after `after`, oldest first, at most `limit`. Works until the host is closed. */
  page(name: string, after: number, limit: number): Promise<EventPage>;
  /** Resolves when the agent's log is longer than `after`, when the agent is removed, or when the signal is aborted. Never rejects for these. */
  whenLonger(name: string, after: number, signal: AbortSignal): Promise<void>;
  /** The replies that are arriving now, by agent id. */
  readonly live: LiveText;
  /** Reads settings, commands and prompts again; agents take them with their next run. Returns the changes, a sentence each. */
  reload(): Promise<readonly string[]>;
  /** Begins to shut down: finishes steps, and cuts them off after `graceMs`. Resolves at once. */
  shutdown(graceMs: number): Promise<void>;
}
