/** evolve-question.ts -- folds a model call into the state: asked, failed, asked again, replied. */
import type { EventOf } from "./event.ts";
import { type At, closeCall, inFrame, inPhase, putCall, withMessage } from "./fold.ts";
import { mayHaveBeenCharged, wasSent } from "./limits.ts";
import type { OpenCall } from "./open-call.ts";
import { receive } from "./provenance.ts";
import { spend, spendIf } from "./spending.ts";
import { type AgentState, openQuestion } from "./state.ts";

/** An earlier attempt that is still open was interrupted, and its server may charge for it. */
export function modelAsked(state: AgentState, event: EventOf<"model-asked"> & At): AgentState {
  const { step, attempt, epoch, model, mode, reservedTokens, reservedUsd = null, callId, frame } = event;
  const isNew = openQuestion(state, callId) === undefined;
  const settled = inFrame(
    settle(spendIf(state, event.spent), callId, { isLost: true, isCounted: true }),
    frame,
    (asking) => (isNew ? { ...asking, asked: asking.asked + 1 } : asking),
  );
  const of = { callId, frame, step, attempt, epoch };
  const call: OpenCall = { kind: "model", ...of, model, mode, reservedTokens, reservedUsd };
  const asked = receive({ ...settled, step }, event.outside ?? [], event);
  return inPhase(putCall(asked, call), event, { kind: "asking", callId });
}

export function modelFailed(state: AgentState, event: EventOf<"model-failed"> & At): AgentState {
  const { callId, code, retryAt, at, changed, fallback = state.fallback } = event;
  const model = openQuestion(state, callId)?.model ?? "";
  const isOther = fallback !== state.fallback;
  const phase = { kind: "retrying", callId, since: at, at: retryAt ?? at } as const;
  const settled = event.spent
    ? spend(settle(state, callId, { isLost: false, isCounted: false }), event.spent)
    : settle(state, callId, { isLost: mayHaveBeenCharged(code), isCounted: wasSent(code) });
  // During an outage further failures are expected, and only what they may cost counts.
  if (state.outage && event.outage) return inPhase(settled, event, phase);
  const failed = {
    ...settled,
    fallback,
    outage: event.outage ? { since: at } : state.outage,
  };
  return inFrame(failed, event.frame, (frame) => ({
    ...frame,
    phase,
    failedTries: [...frame.failedTries, { model, code }],
    modelFailures: isOther ? 0 : frame.modelFailures + (changed ? 0 : 1),
  }));
}

/** Clears the failures that came before a reply. */
export const answeredBy = (state: AgentState, { frame: id }: Pick<At, "frame">, fallback: AgentState["fallback"]) =>
  inFrame({ ...state, fallback, outage: null }, id, (frame) => ({ ...frame, failedTries: [], modelFailures: 0 }));

/** Closes the step's model call, replied or not. */
export const closeQuestion = (state: AgentState, step: number): AgentState => ({
  ...state,
  open: state.open.filter((call) => call.kind !== "model" || call.step !== step),
});

/** Counts the reservation of an attempt without a reply as lost, or releases it, once. The call stays open for the next attempt. */
function settle(
  state: AgentState,
  callId: string,
  { isLost, isCounted }: { readonly isLost: boolean; readonly isCounted: boolean },
): AgentState {
  const call = openQuestion(state, callId);
  if (!call || call.isSettled) return state;
  const tokens = state.lost.tokens + (isLost ? call.reservedTokens : 0);
  const usd = state.lost.usd + (isLost ? (call.reservedUsd ?? 0) : 0);
  const reservedUsd = call.reservedUsd === null ? null : 0;
  const settled: OpenCall = { ...call, reservedTokens: 0, reservedUsd, isSettled: true };
  const usage = { ...state.usage, modelCalls: state.usage.modelCalls + (isCounted ? 1 : 0) };
  return putCall({ ...state, usage, lost: { tokens, usd } }, settled);
}

export function modelReplied(state: AgentState, event: EventOf<"model-replied"> & At): AgentState {
  const { callId, text, finishReason, usage, step, costUsd } = event;
  const { model, mode } = openQuestion(state, callId) ?? ASKED_UNKNOWN;
  const fallback = model === state.fallback?.model ? state.fallback : null;
  const cutReplies = state.cutReplies + (finishReason === "length" ? 1 : 0);
  const answered = { ...answeredBy(state, event, fallback), cutReplies };
  const paid = spend(answered, { usage, costUsd: costUsd ?? null, modelCalls: 1 });
  const replied = closeCall(paid, callId);
  const remembered = withMessage(replied, event, {
    step,
    kind: "reply",
    from: "",
    status: null,
    source: "model",
    text,
    ...(mode === "react" || mode === "code" || mode === "plan" ? { form: mode } : {}),
  });
  return inPhase(remembered, event, { kind: "reading", callId, reply: text, finishReason, model, mode });
}

/** Model and mode for a log that does not record them. */
const ASKED_UNKNOWN = { model: "", mode: "plain" } as const;
