/** agent.ts -- agents as the store knows them, and the right to write one's log. */

import type { GivenSettings } from "../agent-settings.ts";
import type { RecordedEvent } from "../event.ts";
import type { Origin } from "../subagents/subagent-event.ts";

export interface AgentSpec extends GivenSettings {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
  /** Agent id of the parent, for a sub-agent. */
  readonly parent?: string;
  /** What it is born with then. */
  readonly startedBy?: Origin;
  /** Its id, for one that is played again or that another agent starts; GOALD_CONFLICT when it is taken. Else the slug of its name. */
  readonly id?: string;
}

/** A new agent with the past of another. */
export interface Fork {
  readonly name: string;
  /** The last event of the past. */
  readonly head: number;
  /** What it goes on with, numbered from `head` + 1. */
  readonly events: readonly RecordedEvent[];
}

export interface AgentRow {
  /** Slug of the name, `-2` and so on when taken. */
  readonly id: string;
  readonly name: string;
  /** Path of its folder below `workspace/`. */
  readonly folder: string;
  readonly parent: string | null;
  readonly createdAt: string;
  /** Last event: number, time. */
  readonly head: number;
  readonly updatedAt: string;
  readonly epoch: number;
  /** When it wants to run next (ISO), or null: not before something arrives. */
  readonly wakeAt: string | null;
}

/** The right to append to one agent's log, until another claim raises the epoch. */
export interface Lease {
  readonly agent: string;
  readonly epoch: number;
}
