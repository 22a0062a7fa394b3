/** spending.ts -- folds spending into the state: replies, commands that call models, lost reservations. Pure. */
import type { ModelSpending, Usage } from "./event.ts";
import { putCall } from "./fold.ts";
import { type AgentState, openCommand } from "./state.ts";

export function spend(state: AgentState, { usage, costUsd, modelCalls }: ModelSpending): AgentState {
  return {
    ...state,
    usage: {
      modelCalls: state.usage.modelCalls + modelCalls,
      ...bothUsed(state.usage, usage),
    },
    costUsd: state.costUsd + (costUsd ?? 0),
    ...(usage.allowedTokens === undefined ? {} : { excess: usage }),
  };
}

export const spendIf = (state: AgentState, spent: ModelSpending | undefined): AgentState =>
  spent ? spend(state, spent) : state;

export const countDownload = (
  state: AgentState,
  { downloadedBytes = 0 }: { readonly downloadedBytes?: number },
): AgentState => ({
  ...state,
  downloadedBytes: state.downloadedBytes + downloadedBytes,
});

export const bothUsed = (one: Usage, other: Usage): Usage => ({
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  estimated: one.estimated || other.estimated,
});

/** Counts the reservation of an interrupted attempt as lost: it may have been charged. */
export function loseReserved(state: AgentState, callId: string): AgentState {
  const reserved = openCommand(state, callId)?.intent?.reserved;
  if (!reserved) return state;
  const { tokens, usd } = state.lost;
  return { ...state, lost: { tokens: tokens + reserved.tokens, usd: usd + (reserved.usd ?? 0) } };
}

/** Releases the reservation of a call that continues without spending. */
export function spendAll(state: AgentState, callId: string, spent: ModelSpending): AgentState {
  const open = openCommand(state, callId);
  if (!open?.intent) return spend(state, spent);
  const { reserved: _, ...intent } = open.intent;
  return spend(putCall(state, { ...open, intent }), spent);
}
