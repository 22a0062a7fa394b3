/** agent.ts -- agents in the store, and the lease to write an agent's log. */
import type { GivenSettings } from "../agent-settings.ts";
import type { RecordedEvent } from "../event.ts";
import type { GoalCheck } from "../goal-check.ts";
import type { Origin } from "../subagents/subagent-event.ts";

export interface AgentSpec extends GivenSettings {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  readonly checks?: readonly GoalCheck[];
  /** Id of the parent, for a sub-agent. */
  readonly parent?: string;
  /** Origin of a sub-agent. */
  readonly startedBy?: Origin;
  /** Fixed id for replays and sub-agents; GOALD_CONFLICT when it is taken. Defaults to the slug of the name. */
  readonly id?: string;
}

/** A new agent that continues another agent's log. */
export interface Fork {
  readonly name: string;
  /** Number of the last event that is copied. */
  readonly head: number;
  /** Events appended to the copy, numbered from `head` + 1. */
  readonly events: readonly RecordedEvent[];
}

export interface AgentRow {
  /** Slug of the name, with `-2` and so on when taken. */
  readonly id: string;
  readonly name: string;
  /** Path of its folder below `workspace/`. */
  readonly folder: string;
  readonly parent: string | null;
  readonly createdAt: string;
  /** Number of the last event. */
  readonly head: number;
  readonly updatedAt: string;
  readonly epoch: number;
  /** ISO time of the next run; null means not before a message arrives. */
  readonly wakeAt: string | null;
}

/** The right to append to one agent's log, until another claim raises the epoch. */
export interface Lease {
  readonly agent: string;
  readonly epoch: number;
}
