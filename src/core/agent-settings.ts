/** agent-settings.ts -- what one agent is allowed to do and to spend. */

/** When a command runs without asking, and when a person is asked first. */
export type ApprovalMode = "always" | "risky" | "never";

/**
 * How the model answers: `json`, an object with thoughts and a command; `tools`, a native tool call; `plan`, an action as an
 * object; `react`, a thought and an action in Python; `code`, prose with a block of code.
 */
export const REPLY_FORMS = ["json", "tools", "plan", "react", "code"] as const;
export type ReplyForm = (typeof REPLY_FORMS)[number];

/** `free`: the model may make a plan. `required`: it begins with one, and its work ends when all tasks are verified or abandoned. */
export type PlanMode = "free" | "required";

export interface AgentSettings {
  readonly approve: ApprovalMode;
  /** The agent pauses after this step; null for no limit. */
  readonly stepLimit: number | null;
  /** Input and output tokens over the agent's life; null for no limit. */
  readonly tokenLimit: number | null;
  /** US dollars over the agent's life; null for no limit. */
  readonly budgetUsd: number | null;
  /** ISO time at which the agent pauses; null for none. Time in which nothing ran counts too. */
  readonly deadline: string | null;
  /** null: the model of the settings. */
  readonly model: string | null;
  /** Extra messages kept beyond nine before the window is cut back to nine. */
  readonly windowBatch: number;
  readonly form: ReplyForm;
  /** The form `plan` always has a plan. */
  readonly plan: PlanMode;
  /** The commands that it may use, as command-profile.ts reads them; null for all that work. */
  readonly commands: string | null;
  /** The daemon continues it by itself. Otherwise it goes on only while a terminal holds it in front. */
  readonly background: boolean;
}

/** Settings given at creation; state.ts has the defaults of the rest. */
export type GivenSettings = Pick<AgentSettings, "approve" | "stepLimit"> & Partial<AgentSettings>;
