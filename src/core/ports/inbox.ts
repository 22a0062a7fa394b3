/** inbox.ts -- what reaches an agent from outside. */
import type { AgentSettings } from "../agent-settings.ts";
import type { Observation } from "../call.ts";
import type { SubagentMessage } from "../subagents/subagent-event.ts";

export type InboxMessage =
  | { readonly type: "say"; readonly from: string; readonly text: string }
  | {
      readonly type: "approval";
      readonly callId: string;
      readonly verdict: "approved" | "denied";
      /** How many commands are approved in all, this one included (AutoGPT's `y -N`). */
      readonly count?: number;
      /** A person's words; with a denial they are the feedback that the model reads. */
      readonly text?: string;
    }
  /** The step under way is finished first. */
  | { readonly type: "pause"; readonly reason: string; readonly code?: "person" | "stopped" }
  | { readonly type: "resume" }
  | ({ readonly type: "settings" } & Partial<AgentSettings>)
  /** In place of those it has; of a finished agent they open the next turn. */
  | { readonly type: "goals"; readonly goals: readonly string[] }
  /** The end of a command's wait: a child's answer, a person's reply. */
  | { readonly type: "answer"; readonly callId: string; readonly observation: Observation }
  /** Between an agent and those that it starts. */
  | SubagentMessage;

export interface InboxRow {
  /** Idempotency key: the same key is delivered once. */
  readonly key: string;
  readonly at: string;
  readonly message: InboxMessage;
}
