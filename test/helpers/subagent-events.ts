/** subagent-events.ts -- events and messages of an agent with a sub-agent. */

import type { EventOf } from "#core/event.ts";
import type { Spending } from "#core/subagent.ts";
import { ofCommand } from "./events.ts";

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
export const startedAgent = (agent = "foo-ann", step = 1, change = {}) =>
  ofCommand("agent-started", step, { agent, task: "counts", child: child(change) });
export const agentTold = (step = 2) =>
  ofCommand("agent-told", step, {
    agent: "foo-ann",
    text: "more",
    limits: { stepLimit: 25, tokenLimit: 2_000, budgetUsd: 3, deadline: null },
  });
export const SPENT: Spending = { steps: 3, tokens: 300, usd: 0.5 };
export const report = (change: Partial<EventOf<"agent-reported">> = {}): EventOf<"agent-reported"> => ({
  type: "agent-reported",
  agent: "foo-ann",
  status: "finished",
  tasksReceived: 1,
  spent: SPENT,
  ...change,
});
