/** types.ts -- what the local API returns. Types alone: the browser gets nothing of these files. */
import type { AgentChanges, EventPage } from "#api/schemas.ts";
import type { Static } from "#util/schema.ts";

export type Changes = Static<typeof AgentChanges>;
export type LogEvent = EventPage["events"][number];
export type { LivePiece as Delta } from "#api/event-stream.ts";
export type { DaemonStatus as Status, DoorProof } from "#api/schemas.ts";
export type { AgentDetails as Details } from "#views/agent-details.ts";
export type { AgentView as Agent, LimitLeft as Limit } from "#views/agent-view.ts";
export type { DiffView } from "#views/file-diff.ts";
export type { FileStory } from "#views/file-story.ts";
export type { FileContent, LatestFile } from "#views/file-versions.ts";
export type { MemorySearch } from "#views/memory-view.ts";
export type { PlanView, TaskView } from "#views/plan-view.ts";
export type { StepPage } from "#views/step-view.ts";
export type { WaitingView as Waiting } from "#views/waiting.ts";
export type { WholeStep } from "#views/whole-step.ts";
