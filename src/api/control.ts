/** control.ts -- the requests to a host and about its agents: `Control` changes them, `Reading` reads. */
import type { AgentSettings } from "#core/agent-settings.ts";
import type { GoalCheck } from "#core/goal-check.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory.ts";
import type { VerifyReport } from "#core/ports/store.ts";
import type { AgentDetails } from "#views/agent-details.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { DiffRequest, DiffView } from "#views/file-diff.ts";
import type { FileStory } from "#views/file-story.ts";
import type { FileContent, FileList } from "#views/file-versions.ts";
import type {
  MemoryFilter,
  MemoryList,
  MemoryPage,
  MemoryPlace,
  MemorySearch,
  MemoryView,
} from "#views/memory-view.ts";
import type { PlanView } from "#views/plan-view.ts";
import type { GoalsView, LoadedAgent } from "#views/read-agent.ts";
import type { ReportFacts } from "#views/report-facts.ts";
import type { RestorePlan, RestoreRequest } from "#views/restore-plan.ts";
import type { StepPage } from "#views/step-view.ts";
import type { WaitingView } from "#views/waiting.ts";
import type { WholeStep } from "#views/whole-step.ts";
import type {
  ApprovalAnswer,
  ControlResult,
  DaemonStatus,
  DashboardLink,
  EventPage,
  ForkedAgent,
  ForkRequest,
  NewAgent,
  NextTurn,
  PlanEdited,
  PlanEdits,
  Removed,
  Resume,
  Trust,
  Trusted,
  Words,
} from "./schemas.ts";

/** Raise it when a client of the old version would misunderstand the new one. */
export const PROTOCOL_VERSION = 1;

/**
 * The requests by which clients control a host's agents; `Reading` is the other half of the local API. An agent is
 * named by id, or by name: then the newest agent of that name is meant. Every method throws GoaldErrors:
 * GOALD_NOT_FOUND for an unknown agent or step, GOALD_CONFLICT for a request that the agent's state does not allow.
 */
export interface Control {
  status(): Promise<DaemonStatus>;
  agents(): Promise<readonly AgentView[]>;
  agent(name: string): Promise<AgentView>;
  create(agent: NewAgent): Promise<AgentView>;
  say(name: string, words: Words): Promise<ControlResult>;
  setGoals(name: string, goals: readonly string[], checks?: readonly GoalCheck[]): Promise<ControlResult>;
  /** Adds tasks to the plan and sets their states. Throws GOALD_USAGE for a change that does not fit the plan. */
  editPlan(name: string, edits: PlanEdits): Promise<PlanEdited>;
  changeSettings(name: string, settings: Partial<AgentSettings>): Promise<ControlResult>;
  /** Pauses after the current step; resolves at once. */
  pause(name: string, reason: string): Promise<ControlResult>;
  /**
   * Continues an agent after a pause, a stop, a limit or a crash, with changed settings. `record`: path of a recording
   * to continue. `more`: becomes limits, and replaces those of the settings.
   */
  resume(name: string, settings: Partial<AgentSettings>, how?: Omit<Resume, "settings">): Promise<ControlResult>;
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
  /**
   * Creates an agent with this one's state after a step. It is paused, unless this one had finished. Throws GOALD_NOT_FOUND
   * for an unknown step.
   */
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
  /** Resolves when the log of any agent has grown, an agent was removed, or the signal is aborted. */
  whenChanged(signal: AbortSignal): Promise<void>;
  /**
   * Counts a follower of the agent (by id) until the returned function is called. `hold`: it is the terminal of an agent
   * that is not in the background: one that a death of the host interrupted goes on, without an `agent-resumed`. Such an
   * agent pauses half a minute after its last follower has gone. `fail` is called for a terminal whose agent's run has failed,
   * as on a full disk; the agent pauses when that terminal has gone.
   */
  addFollower(agent: string, hold: boolean, fail: (error: Error) => void): () => void;
  /** The replies that are arriving now, by agent id. */
  readonly live: LiveText;
  /**
   * Reads settings, commands and prompts again; agents use them from their next run on. Returns the changes, a sentence
   * each.
   */
  reload(): Promise<readonly string[]>;
  /** Opens the door of the page, unless it is open. Throws GOALD_DAEMON when its port cannot be had. */
  openDashboard(): Promise<DashboardLink>;
  /** Starts the shutdown: finishes steps, and cuts them off after `graceMs`. Resolves at once. */
  shutdown(graceMs: number): Promise<void>;
}

/** The received part of the reply to the request of event `seq`. */
export interface LiveReply {
  readonly seq: number;
  readonly text: string;
  /** The last line that the running code of a cell has printed. */
  readonly printed?: string;
}

export interface LiveText {
  /** Returns undefined when no reply is arriving. */
  of(agent: string): LiveReply | undefined;
  /** Calls `onMore` when more has arrived. The returned function ends the subscription. */
  listen(agent: string, onMore: () => void): () => void;
}

/**
 * Everything that a person or a program can read about agents; `Control` changes them. It needs no lock: the same
 * implementation reads a home without a host, and serves the routes of a host. Arguments and results are plain JSON
 * values. `name` is an id, or a name: then the newest agent of that name is meant. Every method throws GoaldErrors:
 * GOALD_NOT_FOUND for an unknown agent, step, file or memory, GOALD_STORE_DAMAGED for a log that cannot be read. Texts
 * may contain secrets, which the caller must redact before display.
 */
export interface Reading {
  /** An agent whose log cannot be read is listed as `damaged`. */
  agents(): Promise<readonly AgentView[]>;
  agent(name: string): Promise<AgentView>;
  /** Returns the data that `goald show` prints. */
  details(name: string): Promise<AgentDetails>;
  /** Returns the folded state, for programs that follow the log from there. */
  state(name: string): Promise<LoadedAgent>;
  /** Includes goals that the agent has not read yet. */
  goals(name: string): Promise<GoalsView>;
  /** Includes a person's changes that the agent has not read yet. */
  plan(name: string): Promise<PlanView>;
  /** Returns the approvals and answers that agents wait for, the oldest first. */
  waiting(): Promise<readonly WaitingView[]>;
  /** Returns committed events, oldest first. */
  page(name: string, after: number, limit: number): Promise<EventPage>;
  /** At most `limit` steps after `after`, oldest first; without it, the last ones. */
  steps(name: string, page: { readonly after?: number; readonly limit: number }): Promise<StepPage>;
  /** Includes the step's prompt and reply. */
  step(name: string, step: number): Promise<WholeStep>;
  /** `versions: false` leaves out the list of all versions. */
  files(name: string, wanted?: { readonly versions?: boolean }): Promise<FileList>;
  /** `step`: null for the file in the folder now. Throws GOALD_FILE_TOO_LARGE. */
  file(name: string, path: string, step: number | null): Promise<FileContent>;
  /** Explains why the file exists: each version with goals, thoughts and sources. */
  fileStory(name: string, path: string): Promise<FileStory>;
  /** Throws GOALD_USAGE for steps in the wrong order. */
  diff(name: string, request: DiffRequest): Promise<DiffView>;
  /** Returns the changes that `Control.restore` would make. */
  restorePlan(name: string, step: number, paths: readonly string[]): Promise<RestorePlan>;
  report(name: string): Promise<ReportFacts>;
  memories(place: MemoryPlace, filter: MemoryFilter): Promise<MemoryList>;
  /** Returns all rows in the order of their last change. Fewer than `limit` rows means the end. */
  memoryPage(place: MemoryPlace, page: { readonly after: number; readonly limit: number }): Promise<MemoryPage>;
  /** `id`: the whole id, or its part after the slash. */
  memory(place: MemoryPlace, id: string): Promise<MemoryView>;
  /** Returns the memories that the agent would recall for this query. `limit`: null for the number in the settings. */
  searchMemory(place: MemoryPlace, query: string, limit: number | null): Promise<MemorySearch>;
  /** Checks the hash chains and references of one agent. null checks the whole store. */
  verify(name: string | null): Promise<VerifyReport>;
}
