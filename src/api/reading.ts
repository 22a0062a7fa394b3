/**
 * reading.ts -- everything that a person or a program can read about agents; `Control` (control.ts) changes them.
 *
 * It needs no lock: the same implementation reads a home without a host, inside a host, and over the socket. Arguments
 * and results are plain JSON values. `name` is an id, or a name: then the newest agent of that name is meant.
 *
 * Every method throws GoaldErrors: GOALD_NOT_FOUND for an unknown agent, step, file or memory, GOALD_STORE_DAMAGED for
 * a log that cannot be read. Texts may contain secrets, which the caller must redact before display.
 */
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
import type { RestorePlan } from "#views/restore-plan.ts";
import type { StepPage } from "#views/step-view.ts";
import type { WaitingView } from "#views/waiting.ts";
import type { WholeStep } from "#views/whole-step.ts";
import type { EventPage } from "./schemas.ts";

/** Requests items after `after`, at most `limit`. */
export interface PageRequest {
  readonly after: number;
  readonly limit: number;
}

export interface Reading {
  /** An agent whose log cannot be read is listed as `damaged`. */
  agents(): Promise<readonly AgentView[]>;
  /** Returns the same view as `agents`. */
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
  steps(name: string, page: PageRequest): Promise<StepPage>;
  /** Includes the step's prompt and reply. */
  step(name: string, step: number): Promise<WholeStep>;
  files(name: string): Promise<FileList>;
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
  memoryPage(place: MemoryPlace, page: PageRequest): Promise<MemoryPage>;
  /** `id`: the whole id, or its part after the slash. */
  memory(place: MemoryPlace, id: string): Promise<MemoryView>;
  /** Returns the memories that the agent would recall for this query. `limit`: null for the number in the settings. */
  searchMemory(place: MemoryPlace, query: string, limit: number | null): Promise<MemorySearch>;
  /** Checks the hash chains and references of one agent. null checks the whole store. */
  verify(name: string | null): Promise<VerifyReport>;
}
