/**
 * after-failure.ts -- decides what follows a failed model call, by the failure's code. Pure: the caller passes time and chance.
 *
 *   retry at once    the server rejected a part of the request or its length; the next request is changed accordingly
 *   retry later      at the time that the server named; else after 1, 2, 4 … 60 seconds
 *   fallback model   the agent's own model does not exist, has used up the retries of this code, or wants a wait of over
 *                    an hour in front of a person
 *   tell the model   the model refused to answer: the next step says so
 *   outage           for a background agent whose server is down: once a minute until it is back
 *   pause            such a wait without a fallback, and everything else, with a code that says who can help
 *
 * No command is affected: a model call is open only while no command runs.
 */
import { MAX_TRIES } from "#core/decide.ts";
import type { EventOf, ModelSpending, NewEvent, PauseCode } from "#core/event.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import { type AgentState, activeFrame } from "#core/state.ts";

type Failure = Extract<ModelAnswer, { kind: "failed" }> & { readonly spent?: ModelSpending };

type FailedQuestion = Pick<EventOf<"model-asked">, "step" | "callId" | "model">;

interface Circumstances {
  readonly now: Date;
  /** 0 to 1. Spreads the retries of agents that failed at the same time. */
  random(): number;
  /** Model used when the agent's own model fails permanently; null for none. */
  readonly fallbackModel: string | null;
}

/** Number of retries by failure code; other codes are retried twice. */
const RETRIES: Readonly<Record<string, number>> = {
  "rate-limited": 7,
  "server-error": 6,
  unavailable: 6,
  "no-connection": 6,
  "connection-lost": 6,
  "unknown-host": 6,
  timeout: 3,
  conflict: 3,
  "context-overflow": 3,
};
const OTHER_RETRIES = 2;
/** Number of retries when there is a fallback model. */
const RETRIES_BEFORE_FALLBACK = 2;
const FALLBACK_MS = 3_600_000;

const PAUSE_CODES: Readonly<Record<string, PauseCode>> = {
  unauthorized: "key-refused",
  "quota-exhausted": "key-refused",
  "context-overflow": "prompt-too-long",
};
/** Failures that another model of the same server and key would share. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  "unauthorized",
  "quota-exhausted",
  "no-connection",
  "connection-lost",
  "unknown-host",
  "http-refused",
]);

/** Failures of a server that is likely to recover by itself. */
const OUTAGES: ReadonlySet<string> = new Set([
  "server-error",
  "unavailable",
  "no-connection",
  "connection-lost",
  "unknown-host",
  "timeout",
  "rate-limited",
]);
/** Or later, when the server named a later time. */
const PROBE_EVERY_MS = 60_000;

export function afterFailure(
  failure: Failure,
  question: FailedQuestion,
  state: AgentState,
  circumstances: Circumstances,
): readonly NewEvent[] {
  const { step, callId } = question;
  const { code, message } = failure;
  const { now, fallbackModel } = circumstances;
  const failed = (retryAt: Date | null, more: Partial<EventOf<"model-failed">> = {}): NewEvent => ({
    type: "model-failed",
    step,
    callId,
    code,
    message,
    retryAt: retryAt?.toISOString() ?? null,
    ...(failure.spent ? { spent: failure.spent } : {}),
    ...more,
  });
  if (code === "refused") return [failed(null), { type: "reply-rejected", step, problems: [withheld(message)] }];
  const { failedTries } = activeFrame(state);
  const tries = failedTries.length + 1;
  const same = 1 + failedTries.filter((try_) => try_.model === question.model && try_.code === code).length;
  const mayGoOn = tries < MAX_TRIES;
  const isTooLong = code === "context-overflow";
  if (mayGoOn && (failure.retry?.isChanged || (isTooLong && same <= allowed(code))))
    return [failed(now, { changed: true })];
  if (code === "cap-ignored") return [failed(null), { type: "agent-paused", code, reason: message }];
  const other = OF_THE_SERVER.has(code) || isTooLong || question.model === fallbackModel ? null : fallbackModel;
  // The replaced model is tried once when the fallback's time is over, without retries.
  const isReplaced = state.fallback !== null && state.fallback.model !== question.model;
  const retries = other ? Math.min(allowed(code), isReplaced ? 0 : RETRIES_BEFORE_FALLBACK) : allowed(code);
  const waitMs = failure.retry?.afterMs ?? 0;
  const isTooLate = waitMs > LONGEST_ATTENDED_WAIT_MS && !state.settings.background;
  if (isTooLate && other === null)
    return [
      failed(null),
      { type: "agent-paused", code: "model-unreachable", reason: describeWait(waitMs, message, now) },
    ];
  if (mayGoOn && failure.retry && !isTooLate && same <= retries && !isHopeless(code, state))
    return [failed(retryAt(failure.retry.afterMs, state, circumstances))];
  if (mayGoOn && other !== null)
    return [failed(now, { fallback: { model: other, until: new Date(now.getTime() + FALLBACK_MS).toISOString() } })];
  if (state.settings.background && failure.retry && OUTAGES.has(code) && !isHopeless(code, state))
    return [failed(retryAt(Math.max(PROBE_EVERY_MS, waitMs), state, circumstances), { outage: true })];
  const pauseCode = PAUSE_CODES[code] ?? (failure.retry ? "model-unreachable" : "model-refused");
  const often = failure.retry && tries > 1 ? `The model did not answer ${tries} times in a row. ` : "";
  return [failed(null), { type: "agent-paused", code: pauseCode, reason: often + message }];
}

const allowed = (code: string): number => RETRIES[code] ?? OTHER_RETRIES;

/** A host name that never resolved is a typing error, not an outage. */
const isHopeless = (code: string, { usage }: AgentState): boolean => code === "unknown-host" && usage.modelCalls === 0;

/** Longest wait that a server may ask for: a day. */
const MAX_WAIT_MS = 24 * 3_600_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_LATER_MS = 1_000;

/** A person in front of the run reads of it instead of waiting. */
const LONGEST_ATTENDED_WAIT_MS = 3_600_000;

function describeWait(waitMs: number, message: string, now: Date): string {
  const until = new Date(now.getTime() + Math.min(MAX_WAIT_MS, waitMs)).toISOString();
  const atLeast = waitMs > MAX_WAIT_MS ? "more than a day" : `until ${until}`;
  return `${message} It wants to be left alone ${atLeast}. Go on then: goald resume <agent>`;
}

/** Not before the time that the server named. */
function retryAt(afterMs: number | null, state: AgentState, { now, random }: Circumstances): Date {
  const { modelFailures } = activeFrame(state);
  const backoffMs = Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** modelFailures) * (1 - random() / 4);
  const askedMs = Math.max(0, afterMs ?? 0);
  const waitMs = afterMs === null ? backoffMs : askedMs + random() * Math.min(MAX_LATER_MS, askedMs / 10);
  return new Date(now.getTime() + Math.min(MAX_WAIT_MS, Math.round(waitMs)));
}

/** Feedback for the model. */
const withheld = (message: string): string =>
  `No reply came to this step: it was withheld. ${message} Nothing was run. Go on in neutral words, or take another way towards the goals.`;

/**
 * Context window to assume after an overflow, in tokens for request and reply: the server's number, and in any case
 * less than the rejected request, because servers count differently.
 */
export function believedContext(failure: Failure, sentTokens: number): number {
  const most = Math.floor(sentTokens * 0.75);
  return Math.max(MIN_CONTEXT_TOKENS, Math.min(failure.limitTokens ?? most, most));
}

const MIN_CONTEXT_TOKENS = 512;
