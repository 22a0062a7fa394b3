/**
 * evolve.ts -- the fold of one event into the state: `events.reduce(evolve, initialState)`. Total and pure: every event
 * gives a state for every state. It never throws, reads no clock and makes no id.
 */
import type { AgentSettings } from "./agent-settings.ts";
import type { EventBody, EventOf, RecordedEvent } from "./event.ts";
import {
  answeredBy,
  callInterrupted,
  closeQuestion,
  commandDenied,
  commandFinished,
  commandStarted,
  methodsFound,
  modelAsked,
  modelFailed,
  modelReplied,
  NO_DEATHS,
  namespaceSaved,
  trustNamespace,
} from "./evolve-step.ts";
import { goalsChecked, taskAdded, taskChanged, turnRemembered, turnStarted, withWords } from "./evolve-turn.ts";
import {
  type At,
  inEveryFrame,
  inFrame,
  inPhase,
  isFurtherCall,
  popFrame,
  pushFrame,
  putCall,
  thinking,
  unwindTo,
  withMessage,
  withMessageForAll,
} from "./frames.ts";
import { runsChecks, withApproval } from "./goal-check.ts";
import { countRequest, repetitionWarning } from "./guards.ts";
import { countAndRelease, countIfSpent } from "./limits.ts";
import { addReceived } from "./provenance.ts";
import { type AgentState, activeFrame, initialState, openCommand } from "./state.ts";
import { agentEnded, agentReported, agentStarted, agentTold, startedFrom, taskReceived } from "./subagent-messages.ts";

export function evolve(state: AgentState, event: RecordedEvent): AgentState {
  const fold = FOLDS[event.type] as (state: AgentState, event: RecordedEvent) => AgentState;
  return fold(state, event);
}

type Folds = { readonly [T in EventBody["type"]]: (state: AgentState, event: EventOf<T> & At) => AgentState };

const FOLDS: Folds = {
  "agent-created": agentCreated,
  "settings-changed": (state, event) => {
    const fallback = event.model === undefined ? state.fallback : null;
    return { ...state, fallback, settings: settingsWith(state.settings, event) };
  },
  "goals-changed": goalsChanged,
  "model-asked": modelAsked,
  "model-replied": modelReplied,
  "model-failed": modelFailed,
  "reply-rejected": replyRejected,
  "command-requested": commandRequested,
  "approval-asked": approvalAsked,
  "approvals-granted": (state, { count }) => ({ ...state, grantedApprovals: count }),
  "command-approved": commandApproved,
  "command-denied": commandDenied,
  "command-started": commandStarted,
  "call-interrupted": callInterrupted,
  "call-cut-off": (state, { epoch }) => ({ ...state, cutOffAt: epoch, isolated: null }),
  "call-isolated": (state, { callId, epoch }) => ({ ...state, isolated: { callId, epoch } }),
  "call-cleared": (state) => ({ ...state, isolated: null }),
  "repetition-noticed": repetitionNoticed,
  "command-waiting": commandWaiting,
  "command-finished": commandFinished,
  "words-trusted": wordsTrusted,
  "message-received": (state, event) => {
    const message = { kind: "feedback", from: event.from, status: null, source: "person", text: event.text } as const;
    return withWords({ ...state, grantedApprovals: 0, refusals: 0 }, event, { ...message, step: state.step });
  },
  "files-restored": filesRestored,
  "frame-pushed": (state, event) => addReceived(pushFrame(state, event), event.outside ?? [], event),
  "frame-popped": popFrame,
  "namespace-saved": namespaceSaved,
  "methods-found": methodsFound,
  "agent-paused": (state, { code, reason, spent }) => ({
    ...countIfSpent(state, spent),
    grantedApprovals: 0,
    paused: { code, reason },
  }),
  "agent-resumed": agentResumed,
  "task-added": taskAdded,
  "task-changed": taskChanged,
  "goals-checked": goalsChecked,
  "turn-started": turnStarted,
  "turn-remembered": turnRemembered,
  "turn-finished": (state, event) => {
    const { outcome, reason } = event;
    return inPhase(state, event, { kind: "resting", outcome, reason });
  },
  "agent-started": agentStarted,
  "agent-told": agentTold,
  "agent-ended": agentEnded,
  "agent-reported": agentReported,
  "task-received": taskReceived,
};

export const replay = (events: Iterable<RecordedEvent>, from: AgentState = initialState): AgentState => {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
};

function agentCreated(state: AgentState, event: EventOf<"agent-created"> & At): AgentState {
  const { name, role, goals, checks = [], startedBy } = event;
  const created = { ...state, name, role, goals, checks, settings: settingsWith(state.settings, event) };
  return startedBy ? startedFrom(startedBy, created, event) : created;
}

function replyRejected(state: AgentState, event: EventOf<"reply-rejected"> & At): AgentState {
  const { step, problems, reasoningTokens, isBadResult } = event;
  const answered = answeredBy(closeQuestion(state, step), event, state.fallback);
  const rejected = inFrame(answered, event.frame, (frame) =>
    isBadResult ? { ...frame, badResults: frame.badResults + 1 } : { ...frame, badReplies: frame.badReplies + 1 },
  );
  const reasoning = reasoningTokens === undefined ? {} : { reasoningTokens };
  return thinking(rejected, event, { ...FROM_GOALD, step, kind: "problem", text: problems.join("\n"), ...reasoning });
}

function commandRequested(state: AgentState, event: EventOf<"command-requested"> & At): AgentState {
  const { step, call, thought, callId, frame, leaving } = event;
  const requested = inFrame(state, frame, (asking) => {
    const isFurther = asking.phase.kind === "judging" && isFurtherCall(callId);
    const repetition = countRequest(asking.repetition, event, isFurther);
    if (isFurther) return { ...asking, queue: [...asking.queue, callId], repetition };
    return { ...asking, phase: { kind: "judging", callId }, badReplies: 0, repetition };
  });
  const leaves = leaving ? { leaving } : {};
  return putCall(requested, { kind: "command", callId, frame, step, call, thought, ...leaves });
}

function commandApproved(state: AgentState, event: EventOf<"command-approved"> & At): AgentState {
  const { callId, by } = event;
  const isOfChecks = by === "person" && runsChecks(openCommand(state, callId)?.call);
  const checks = isOfChecks ? withApproval(state.checks, false) : state.checks;
  const spent = by === "earlier-approval" ? 1 : 0;
  const approved = { ...state, checks, grantedApprovals: Math.max(0, state.grantedApprovals - spent) };
  return inPhase(approved, event, { kind: "approved", callId });
}

function commandWaiting(state: AgentState, event: EventOf<"command-waiting"> & At): AgentState {
  const { callId, waitFor, until, spent, outside = [] } = event;
  const left = addReceived(unwindTo({ ...state, isolated: null }, callId), outside, event);
  const waiting = { kind: "waiting", callId, waitFor, until } as const;
  return inPhase(spent ? countAndRelease(left, callId, spent) : left, event, waiting);
}

/** Settings that `given` does not name stay; null is a value. */
function settingsWith(before: AgentSettings, given: Partial<AgentSettings>): AgentSettings {
  const named = Object.entries(given).filter(([name, value]) => Object.hasOwn(before, name) && value !== undefined);
  return { ...before, ...Object.fromEntries(named) };
}

/** Fields of a message from goald itself to the model. */
const FROM_GOALD = { from: "goald", status: null, source: "goald" } as const;

/** The new goals are in the instructions; this message points out that they changed. A plan starts anew from them. */
function goalsChanged(state: AgentState, event: EventOf<"goals-changed"> & At): AgentState {
  const { goals, checks = [] } = event;
  const given = { goals, checks, goalsTurn: state.turn, plan: null, proofs: [] };
  const changed = { ...state, ...given, goalsOutside: [], grantedApprovals: 0, refusals: 0 };
  const text = "The goals were changed just now. Those in your instructions are the ones that count.";
  return withMessageForAll(changed, event, { ...FROM_GOALD, step: state.step, kind: "feedback", text });
}

function wordsTrusted(state: AgentState, { what, seq }: EventOf<"words-trusted"> & At): AgentState {
  if (what !== "all") return state;
  return { ...state, received: [], trustedSeq: seq, namespace: trustNamespace(state.namespace) };
}

/** Resets the failure counters. A server that was down is retried at once. */
function agentResumed(state: AgentState, event: EventOf<"agent-resumed"> & At): AgentState {
  const cleared = { badReplies: 0, modelFailures: 0, failedTries: [], repetition: null, failedCells: 0 };
  const resumed = inEveryFrame(state, (frame) => ({ ...frame, ...cleared }));
  const { id, phase } = activeFrame(state);
  const again = { ...resumed, fallback: null, outage: null, paused: null, ...NO_DEATHS, refusals: 0 };
  return phase.kind === "retrying" ? inPhase(again, { frame: id }, { ...phase, at: event.at }) : again;
}

function repetitionNoticed(state: AgentState, event: EventOf<"repetition-noticed"> & At): AgentState {
  const repetition = state.frames.find(({ id }) => id === event.frame)?.repetition;
  if (!repetition) return state;
  const text = repetitionWarning(repetition, event.count);
  const noticed = inFrame(state, event.frame, (frame) => ({ ...frame, repetition: { ...repetition, noticed: true } }));
  return withMessage(noticed, event, { ...FROM_GOALD, step: event.step, kind: "feedback", text });
}

function approvalAsked(state: AgentState, event: EventOf<"approval-asked"> & At): AgentState {
  const { callId, reason, until = null, script } = event;
  const open = openCommand(state, callId);
  const asked = open && script ? putCall(state, { ...open, script: { sha256: script.sha256 } }) : state;
  return inPhase(asked, event, { kind: "awaiting-approval", callId, reason, until });
}

export interface FilesRestored {
  readonly type: "files-restored";
  /** The files are as they were after this step. */
  readonly toStep: number;
  /** The first ones, up to MAX_CHANGES. */
  readonly changes: readonly { readonly path: string; readonly change: "written" | "removed" }[];
  /** Number of further changes. */
  readonly more: number;
}

export const MAX_CHANGES = 100;

/** The plan, the turn and memories stay as they are; approvals that a person gave ahead end. */
function filesRestored(state: AgentState, event: FilesRestored & At): AgentState {
  const text = describeRestored(event);
  const message = { ...FROM_GOALD, kind: "feedback", step: state.step, text } as const;
  return withMessageForAll({ ...state, grantedApprovals: 0, refusals: 0 }, event, message);
}

const SAYS = { written: "Rewritten", removed: "Removed" } as const;

export function describeRestored({ toStep, changes, more }: Omit<FilesRestored, "type">): string {
  const head = `A person put files in your folder back as they were after step ${toStep}.`;
  const lists = Object.entries(SAYS).flatMap(([change, word]) => {
    const paths = changes.filter((entry) => entry.change === change).map(({ path }) => path);
    return paths.length === 0 ? [] : [`${word}: ${paths.join(", ")}.`];
  });
  const others = more === 0 ? [] : [`And ${more} more.`];
  return [head, ...lists, ...others, "Your plan is unchanged. Look at these files before you rely on them."].join(" ");
}
