/** inbox.ts -- messages from outside to an agent. */
import type { AgentSettings } from "../agent-settings.ts";
import type { Observation } from "../call.ts";
import type { GoalCheck } from "../goal-check.ts";
import type { PlanEdit } from "../plan.ts";
import type { TrustedWords } from "../provenance.ts";
import type { SubagentMessage } from "../subagents/subagent-event.ts";

export type InboxMessage =
  | { readonly type: "say"; readonly from: string; readonly text: string }
  | {
      readonly type: "approval";
      readonly callId: string;
      readonly verdict: "approved" | "denied";
      /** Number of approved commands, this one included (AutoGPT's `y -N`). */
      readonly count?: number;
      /** A person's words; with a denial, the feedback that the model reads. */
      readonly text?: string;
    }
  /** The step under way is finished first. */
  | { readonly type: "pause"; readonly reason: string; readonly code?: "person" | "stopped" }
  | { readonly type: "resume" }
  | ({ readonly type: "settings" } & Partial<AgentSettings>)
  /** Replaces the goals. A finished agent starts its next turn with them. */
  | { readonly type: "goals"; readonly goals: readonly string[]; readonly checks?: readonly GoalCheck[] }
  /** A person changes the plan. */
  | { readonly type: "plan"; readonly edits: readonly PlanEdit[] }
  /** A person has looked at the words: all that the agent received so far, or those of one file or placed folder. */
  | ({ readonly type: "trust" } & TrustedWords)
  /** Ends a command's wait. */
  | { readonly type: "answer"; readonly callId: string; readonly observation: Observation }
  /** Between a parent and its sub-agents. */
  | SubagentMessage;

export interface InboxRow {
  /** Idempotency key: the same key is delivered once. */
  readonly key: string;
  readonly at: string;
  readonly message: InboxMessage;
}
