/**
 * after-failure.ts -- what follows when a model gave no answer, by the failure's code. Pure; the edge gives time and chance.
 *
 *   asked again at once   a part of the request was refused, or it was too long: the next one heeds that
 *   waited for            until the time that the server named, however far off; else a second, two, four … sixty
 *   another model         the agent's own is gone, or has failed as often as its code allows
 *   asked for otherwise   the model would not answer this: it is told so in the next step
 *   tried now and then    an agent of the background whose server is out of order: each minute, until it is not
 *   paused                all else, with a code that says who can help
 *
 * Nothing of it touches a command: a question is open only while none runs.
 */
import { MAX_TRIES } from "#core/decide.ts";
import type { EventOf, NewEvent, PauseCode } from "#core/event.ts";
import type { ModelAnswer } from "#core/ports/model.ts";
import type { AgentState } from "#core/state.ts";

type Failure = Extract<ModelAnswer, { kind: "failed" }>;

export interface FailedQuestion {
  readonly step: number;
  readonly callId: string;
  readonly model: string;
}

export interface Circumstances {
  readonly now: Date;
  /** 0 to 1: many agents that fail together do not come back together. */
  random(): number;
  /** Asked when the agent's own model fails for good; null for none. */
  readonly fallbackModel: string | null;
}

/** How often a try that failed so is repeated; a code that is not here, twice. */
const RETRIES: Readonly<Record<string, number>> = {
  "rate-limited": 7,
  "server-error": 6,
  "no-connection": 6,
  "connection-lost": 6,
  "unknown-host": 6,
  timeout: 3,
  conflict: 3,
  "broken-reply": 2,
  "incomplete-reply": 2,
  "context-overflow": 3,
};
const OTHER_RETRIES = 2;
/** With another model at hand no more tries are spent on this one. */
const RETRIES_BEFORE_FALLBACK = 2;
const FALLBACK_MS = 3_600_000;

const PAUSE_CODES: Readonly<Record<string, PauseCode>> = {
  unauthorized: "key-refused",
  "quota-exhausted": "key-refused",
  "context-overflow": "prompt-too-long",
};
/** Another model of the same server, with the same key, fails the same way. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  "unauthorized",
  "quota-exhausted",
  "no-connection",
  "connection-lost",
  "unknown-host",
  "http-refused",
]);

/** What a server says, or does not say, that will work again by itself. */
const OUTAGES: ReadonlySet<string> = new Set([
  "server-error",
  "no-connection",
  "connection-lost",
  "unknown-host",
  "timeout",
  "rate-limited",
]);
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
  const told = (retryAt: Date | null, more: Partial<EventOf<"model-failed">> = {}): NewEvent => ({
    type: "model-failed",
    step,
    callId,
    code,
    message,
    retryAt: retryAt?.toISOString() ?? null,
    ...more,
  });
  if (code === "refused") return [told(null), { type: "reply-rejected", step, problems: [withheld(message)] }];

  const tries = state.failedTries.length + 1;
  const same = 1 + state.failedTries.filter((try_) => try_.model === question.model && try_.code === code).length;
  const mayGoOn = tries < MAX_TRIES;
  const isTooLong = code === "context-overflow";
  if (mayGoOn && (failure.retry?.isChanged || (isTooLong && same <= allowed(code))))
    return [told(now, { changed: true })];

  const other = OF_THE_SERVER.has(code) || isTooLong || question.model === fallbackModel ? null : fallbackModel;
  // One that was replaced, and is tried again when its time is over, gets no second try.
  const isReplaced = state.fallback !== null && state.fallback.model !== question.model;
  const retries = other ? Math.min(allowed(code), isReplaced ? 0 : RETRIES_BEFORE_FALLBACK) : allowed(code);
  if (mayGoOn && failure.retry && same <= retries && !isHopeless(code, state))
    return [told(retryAt(failure.retry.afterMs, state, circumstances))];
  if (mayGoOn && other !== null)
    return [told(now, { fallback: { model: other, until: new Date(now.getTime() + FALLBACK_MS).toISOString() } })];
  if (state.settings.background && failure.retry && OUTAGES.has(code) && !isHopeless(code, state))
    return [told(probeAt(failure.retry.afterMs, state, circumstances), { outage: true })];
  const pauseCode = PAUSE_CODES[code] ?? (failure.retry ? "model-unreachable" : "model-refused");
  const often = failure.retry && tries > 1 ? `The model did not answer ${tries} times in a row. ` : "";
  return [told(null), { type: "agent-paused", code: pauseCode, reason: often + message }];
}

const allowed = (code: string): number => RETRIES[code] ?? OTHER_RETRIES;

/** A name that has never led anywhere is misspelt, not out of order. */
const isHopeless = (code: string, { usage }: AgentState): boolean => code === "unknown-host" && usage.modelCalls === 0;

/** A day: what a server may ask for; one that says more is asked again then. */
const MAX_WAIT_MS = 24 * 3_600_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_LATER_MS = 1_000;

/** A minute later, or when the server said, whichever is later. */
function probeAt(afterMs: number | null, state: AgentState, circumstances: Circumstances): Date {
  return retryAt(Math.max(PROBE_EVERY_MS, afterMs ?? 0), state, circumstances);
}

/** Never before the time that the server named. */
function retryAt(afterMs: number | null, { modelFailures }: AgentState, { now, random }: Circumstances): Date {
  const backoffMs = Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** modelFailures) * (1 - random() / 4);
  const askedMs = Math.max(0, afterMs ?? 0);
  const waitMs = afterMs === null ? backoffMs : askedMs + random() * Math.min(MAX_LATER_MS, askedMs / 10);
  return new Date(now.getTime() + Math.min(MAX_WAIT_MS, Math.round(waitMs)));
}

/** For the model. */
const withheld = (message: string): string =>
  `No reply came to this step: it was withheld. ${message} Nothing was run. Go on in neutral words, or take another way towards the goals.`;

/**
 * How many tokens, request and reply together, to believe in after an overflow: what the server says, and in any case less
 * than what it refused, since it counts in its own way.
 */
export function believedContext(failure: Failure, sentTokens: number): number {
  const most = Math.floor(sentTokens * 0.75);
  return Math.max(MIN_CONTEXT_TOKENS, Math.min(failure.limitTokens ?? most, most));
}

const MIN_CONTEXT_TOKENS = 512;
