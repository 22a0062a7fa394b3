/**
 * family-event.ts -- what happens between an agent and those that it starts, as data.
 *
 * What one agent sends another follows from an event of its own log, and rides in that event's commit (kin.ts): an agent is
 * started, told, asked to stop, and answers, exactly once, whatever dies in between.
 */
import type { AgentSettings, ApprovalMode, GivenSettings } from "../agent-settings.ts";
import type { Observation } from "../call.ts";
import type { Text } from "../text.ts";

/** Of an agent that another one started: what it was born with, and can never lose. */
export interface Origin {
  /** Id of the agent that started it; null for a fork, which answers to nobody. */
  readonly agent: string | null;
  /** How many agents stand above it: 1 for one that was started by a person's agent. */
  readonly depth: number;
  /** The starting agent had read text from outside, and what it was told may come from there. */
  readonly tainted: boolean;
}

/** Sums over an agent's life, with those that it started; what is reserved or set aside counts. */
export interface Spending {
  readonly steps: number;
  readonly tokens: number;
  readonly usd: number;
}

/** How far an agent may go in all; null for no limit. */
export type Reach = Pick<AgentSettings, "stepLimit" | "tokenLimit" | "budgetUsd" | "deadline">;

/** What a new agent is, as the one that starts it decided it. */
export interface Child extends GivenSettings {
  readonly name: string;
  readonly role: string;
  readonly goals: readonly string[];
}

/**
 *   finished   its turn is over, and this is the answer
 *   paused     it stands, and says why; the rest of its share stays set aside
 *   ended      it was told to end, or was removed, and does nothing more
 *   accounts   nothing to say, but what it has spent is another sum now
 */
export type Standing = "finished" | "paused" | "ended" | "accounts";

/** What an agent tells the one that started it. */
export interface Report {
  /** Its id. */
  readonly agent: string;
  readonly standing: Standing;
  /** How many tasks it had received by then: an answer to an older one settles nothing. */
  readonly heard: number;
  readonly spent: Spending;
}

export type SubagentEvent =
  // -- in the log of the one that starts: `agent` is the other's id
  | {
      readonly type: "agent-started";
      readonly step: number;
      readonly callId: string;
      readonly agent: string;
      readonly task: string;
      readonly child: Child;
    }
  | {
      readonly type: "agent-told";
      readonly step: number;
      readonly callId: string;
      readonly agent: string;
      readonly text: Text;
      /** What it may spend in all from now on. */
      readonly reach: Reach;
    }
  | { readonly type: "agent-ended"; readonly agent: string; readonly reason: string }
  /** `observation`: what it says; absent where a `command-finished` that follows says it, or where there is nothing to say. */
  | ({ readonly type: "agent-reported"; readonly observation?: Observation } & Report)
  // -- in the log of the one that was started
  | { readonly type: "task-received"; readonly from: string; readonly text: Text; readonly tainted: boolean };

export type SubagentMessage =
  /** From the one that started it: more to do, and how far it may go now. */
  | {
      readonly type: "task";
      readonly from: string;
      readonly text: Text;
      readonly tainted: boolean;
      readonly reach: Reach;
    }
  /** The one that started it was stopped, or goes on. */
  | { readonly type: "halt"; readonly reason: string }
  | { readonly type: "go-on" }
  /** The one that started it is asked about more from now on, and so is it; never about less. */
  | { readonly type: "policy"; readonly approve: ApprovalMode }
  /** It is not needed any more. */
  | { readonly type: "end"; readonly reason: string }
  /** `observation`: null when there is nothing to say. */
  | ({ readonly type: "report"; readonly observation: Observation | null } & Report);
