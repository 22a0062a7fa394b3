/** subagent-events.ts -- events and messages of an agent with a sub-agent. */

import type { AgentSettings } from "#core/agent-settings.ts";
import type { EventOf, NewEvent } from "#core/event.ts";
import type { InboxMessage } from "#core/ports/store.ts";
import type { Origin, Spending, SubagentMessage } from "#core/subagent.ts";
import type { SubagentRules } from "#core/subagent-requests.ts";
import * as given from "./events.ts";

const { asked, replied, requested, approved, started, observed } = given;

export const UNTIL = "2026-11-20T10:01:00.000Z";
export const SUBAGENT_RULES: SubagentRules = { maxDepth: 2, maxChildren: 2, model: "fast-model" };

export const created = (settings: Partial<AgentSettings> & { readonly startedBy?: Origin } = {}): NewEvent => ({
  ...given.created(settings),
  approve: "risky",
  ...settings,
});
export const child = (change: Partial<EventOf<"agent-started">["child"]> = {}): EventOf<"agent-started">["child"] => ({
  name: "Ann",
  role: "counts",
  goals: ["Count"],
  approve: "risky",
  stepLimit: 20,
  tokenLimit: 1_000,
  budgetUsd: 2,
  ...change,
});
export const startedAgent = (agent = "foo-ann", step = 1, change = {}): EventOf<"agent-started"> => ({
  type: "agent-started",
  step,
  callId: `c${step}`,
  agent,
  task: "counts",
  child: child(change),
});
export const commandWaiting = (step = 1): NewEvent => given.waits("agent", UNTIL, step);
/** A parent whose call of start_agent waits. */
export const waitingParent: readonly NewEvent[] = [
  created({ stepLimit: 100, tokenLimit: 10_000, budgetUsd: 10 }),
  asked(),
  replied(),
  requested("start_agent"),
  approved(),
  started("transactional"),
  startedAgent(),
  commandWaiting(),
];
export const SPENT: Spending = { steps: 3, tokens: 300, usd: 0.5 };
export const report = (change: Partial<EventOf<"agent-reported">> = {}): EventOf<"agent-reported"> => ({
  type: "agent-reported",
  agent: "foo-ann",
  status: "finished",
  tasksReceived: 1,
  spent: SPENT,
  ...change,
});
export const reportMessage = (change: Partial<Extract<SubagentMessage, { type: "report" }>> = {}): InboxMessage => ({
  ...report(),
  type: "report",
  observation: observed("42", { source: "agent" }),
  ...change,
});
export const agentTold = (step = 2): NewEvent => ({
  type: "agent-told",
  step,
  callId: `c${step}`,
  agent: "foo-ann",
  text: "more",
  limits: { stepLimit: 25, tokenLimit: 2_000, budgetUsd: 3, deadline: null },
});
export const ended: NewEvent = { type: "agent-ended", agent: "foo-ann", reason: "enough" };
