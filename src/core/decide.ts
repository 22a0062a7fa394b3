/**
 * decide.ts -- the next move, chosen from the state alone.
 *
 *   state --decide--> move --perform (edge)--> events --evolve--> state
 *
 * Every decision is made here, without side effects; all waiting happens at the edge. A `record` move needs nothing
 * from outside: its events fold at once and become durable with the next intent.
 */
import {
  commandCallId,
  type Effect,
  modelCallId,
  type Observation,
  outcomeUnknown,
  stricterEffect,
  type WaitFor,
} from "./call.ts";
import { ASK_USER, BAD_RESULT, isActionForm, TASK_COMPLETE } from "./command.ts";
import type { NewEvent, PauseCode } from "./event.ts";
import { cellTrouble, depthTrouble, MAX_DEATHS } from "./evolve-step.ts";
import { isFurtherCall, isNestedCall, MAX_RUN_STEPS } from "./frames.ts";
import {
  MAX_REFUSALS,
  notProven,
  refuseCompletion,
  repetitionLimit,
  repetitionWarningDue,
  waitsForHelpers,
} from "./guards.ts";
import { deadlinePassed, earlier, limitReached } from "./limits.ts";
import { type JudgedCommand, judge } from "./policy.ts";
import {
  type AgentState,
  activeFrame,
  type Frame,
  formOfFrame,
  openCommand,
  openQuestion,
  type Phase,
} from "./state.ts";
import { clip, type Text } from "./text.ts";

/** A move is the next thing that an agent does. */
export type Move =
  | { readonly kind: "record"; readonly events: readonly NewEvent[] }
  | { readonly kind: "ask"; readonly callId: string; readonly step: number; readonly attempt: number }
  | { readonly kind: "read"; readonly step: number; readonly reply: Text; readonly finishReason: string }
  | { readonly kind: "execute"; readonly callId: string; readonly attempt: number; readonly effect: Effect }
  | { readonly kind: "probe"; readonly callId: string; readonly effect: Effect }
  | { readonly kind: "wait"; readonly waitFor: WaitFor; readonly until: string | null }
  | { readonly kind: "rest" };

/** The command's current declaration in the catalogue. */
export interface CommandFacts extends JudgedCommand {
  readonly effect: Effect;
  readonly closesTurn?: boolean;
  /** Present when the command has a `prepare`, which may take long or end the process. */
  readonly prepare?: unknown;
}

export interface Rules {
  /** Epoch of this process's lease. An intent of an older epoch was interrupted. */
  readonly epoch: number;
  facts(name: string): CommandFacts | undefined;
  /** An approval that nobody answers for this long counts as a no; absent: it stays open. */
  readonly approvalExpiresMs?: number;
}

/** A model that did not mend its reply after reading twice what is wrong with it does not mend it the third time. */
const MAX_BAD_REPLIES = 3;
/** Failed requests per step after which the agent is paused, unless the server is known to be down. */
export const MAX_TRIES = 8;

export function decide(state: AgentState, rules: Rules, now: Date): Move {
  if (state.paused) return { kind: "rest" };
  const frame = frameToMove(state, rules);
  const move = moveOf(frame, state, rules, now);
  if (move.kind !== "execute" || frame === activeFrame(state)) return move;
  // What waits inside an interrupted command goes on waiting. The command runs again when there is something to do.
  const inside = moveOf(activeFrame(state), state, rules, now);
  return inside.kind === "wait" ? inside : move;
}

function moveOf(frame: Frame, state: AgentState, rules: Rules, now: Date): Move {
  const { phase } = frame;
  switch (phase.kind) {
    case "thinking":
      return think(state, frame, now);
    case "asking":
      return afterLostReply(state, frame, phase.callId, rules, now);
    case "retrying":
      return isBefore(now, phase.at) &&
        !isBefore(now, phase.since) &&
        (state.outage || frame.failedTries.length < MAX_TRIES)
        ? waitWithinDeadline(state, "time", phase.at, now)
        : askAgain(state, frame, phase.callId, now);
    case "reading":
      return { kind: "read", step: state.step, reply: phase.reply, finishReason: phase.finishReason };
    case "judging":
      return judgeCall(state, frame, phase.callId, rules, now);
    case "awaiting-approval":
      return judgeAgain(state, frame, phase, rules, now);
    case "approved":
      return executeApproved(state, phase.callId, rules);
    case "executing":
      return afterInterruption(state, phase.callId, rules);
    case "waiting":
      return waitOrGiveUp(state, phase, now);
    case "ending":
      return requestCompletion(frame, state.step, phase.reason);
    case "closing":
      return record({ type: "turn-finished", outcome: "completed", ...phase.end });
    case "ended":
      return pop(frame, phase);
    case "resting":
      return { kind: "rest" };
  }
}

/** The lowest frame whose command was interrupted, because it runs again first; otherwise the innermost frame. */
function frameToMove(state: AgentState, rules: Rules): Frame {
  if (state.frames.length === 1) return state.frames[0];
  const interrupted = state.frames.find(({ phase }) => {
    const intent = phase.kind === "executing" ? openCommand(state, phase.callId)?.intent : undefined;
    return intent !== undefined && isInterrupted(intent, rules);
  });
  return interrupted ?? activeFrame(state);
}

function think(state: AgentState, frame: Frame, now: Date): Move {
  if (frame.badReplies >= MAX_BAD_REPLIES) return giveUpReading(frame, isActionForm(formOfFrame(state)));
  if (frame.kind === "run" && frame.asked >= MAX_RUN_STEPS)
    return giveUp(
      frame,
      "step-limit",
      `It took ${frame.asked} steps, the most that a sub-task may take, and did not end.`,
    );
  const problem = frame.kind === "run" ? depthTrouble(state) : undefined;
  if (problem) return pop(frame, { resultSeq: null, problem });
  const trouble = cellTrouble(frame);
  if (trouble) return giveUp(frame, trouble.code, trouble.reason);
  const step = state.step + 1;
  const limit = limitReached(state, step, now);
  if (limit) return pause(limit.code, limit.reason);
  if (state.refusals >= MAX_REFUSALS) return pause("not-proven", notProven(state));
  const notice = repetitionWarningDue(frame);
  if (notice) return record(notice);
  if (waitsForHelpers(state)) return waitWithinDeadline(state, "agent", null, now);
  return { kind: "ask", callId: modelCallId(frame, step), step, attempt: 1 };
}

function afterLostReply(state: AgentState, frame: Frame, callId: string, rules: Rules, now: Date): Move {
  const open = openQuestion(state, callId);
  if (!open) return lostCall(callId);
  return isInterrupted(open, rules) ? askAgain(state, frame, callId, now) : stillUnderWay(callId);
}

/** Repeats a model call that has no reply. This costs money but has no effect outside. */
function askAgain(state: AgentState, frame: Frame, callId: string, now: Date): Move {
  const isSpent = frame.failedTries.length >= MAX_TRIES;
  if (isSpent && !state.outage)
    return pause("model-unreachable", `The model did not answer ${frame.failedTries.length} times in a row.`);
  const limit = limitReached(state, state.step, now);
  if (limit) return pause(limit.code, limit.reason);
  return { kind: "ask", callId, step: state.step, attempt: (openQuestion(state, callId)?.attempt ?? 0) + 1 };
}

/**
 * The settings may have changed since the person was asked. The question stays open while they require a person, until
 * it expires and counts as denied.
 */
function judgeAgain(
  state: AgentState,
  frame: Frame,
  phase: Extract<Phase, { kind: "awaiting-approval" }>,
  rules: Rules,
  now: Date,
): Move {
  const { callId, until, reason } = phase;
  const open = openCommand(state, callId);
  const verdict = open && judge(open.call, rules.facts(open.call.name), state, open.leaving);
  if (!open || verdict?.kind !== "ask") return judgeCall(state, frame, callId, rules, now);
  if (until === null || isBefore(now, until)) return waitWithinDeadline(state, "approval", until, now);
  const words = `Nobody approved it by ${until}. ${reason}`;
  return record({ type: "command-denied", step: open.step, callId, by: "policy", reason: words });
}

/** The longest reason in a question to a person. The lists that a policy makes fit into it. */
const MAX_REASON_CHARS = 4_000;

function judgeCall(state: AgentState, frame: Frame, callId: string, rules: Rules, now: Date): Move {
  const open = openCommand(state, callId);
  if (!open) return lostCall(callId);
  const circle = repetitionLimit(frame, callId);
  if (circle) return giveUp(frame, "loop", circle);
  const { step, call } = open;
  const facts = rules.facts(call.name);
  const refused = facts?.closesTurn && frame.kind !== "run" ? refuseCompletion(state) : undefined;
  if (refused) return record({ type: "command-denied", step, callId, by: "policy", ...refused });
  const verdict = judge(call, facts, state, open.leaving);
  switch (verdict.kind) {
    case "allow":
      return record({ type: "command-approved", step, callId, by: verdict.by });
    case "deny":
      return record({ type: "command-denied", step, callId, by: "policy", reason: verdict.reason });
    case "ask": {
      const { approvalExpiresMs: ms } = rules;
      const asked = { type: "approval-asked", step, callId, reason: clip(verdict.reason, MAX_REASON_CHARS) } as const;
      return record(ms === undefined ? asked : { ...asked, until: new Date(now.getTime() + ms).toISOString() });
    }
  }
}

/** An isolated call of an older lease that has not started was interrupted in its `prepare`. */
function executeApproved(state: AgentState, callId: string, rules: Rules): Move {
  const { call, step } = openCommand(state, callId) ?? {};
  const { epoch } = rules;
  if (state.isolated && state.isolated.epoch < epoch)
    return record({ type: "call-interrupted", step: step ?? state.step, callId, epoch });
  if (state.deaths >= MAX_DEATHS) return diedTooOften(state, call?.name ?? callId);
  return { kind: "execute", callId, attempt: 1, effect: rulesEffect(state, callId, rules) };
}

/** A call that an older lease started and did not finish was interrupted: its effect decides what happens next. */
function afterInterruption(state: AgentState, callId: string, rules: Rules): Move {
  const open = openCommand(state, callId);
  if (!open?.intent) return lostCall(callId);
  if (!isInterrupted(open.intent, rules)) return stillUnderWay(callId);
  const { epoch } = rules;
  if (open.intent.epoch > state.cutOffAt && open.intent.seenInterruptedAt !== epoch)
    return record({ type: "call-interrupted", step: open.step, callId, epoch });
  if (state.deaths >= MAX_DEATHS) return diedTooOften(state, open.call.name);
  const effect = rulesEffect(state, callId, rules);
  const attempt = open.intent.attempt + 1;
  switch (effect) {
    case "pure":
    case "idempotent":
    case "transactional":
      return { kind: "execute", callId, attempt, effect };
    case "reconcilable":
      return { kind: "probe", callId, effect };
    case "at-most-once":
      return record(outcomeUnknown(callId, open));
  }
}

const diedTooOften = ({ interruptions }: AgentState, name: string): Move =>
  pause(
    "crash-loop",
    `goald's process died ${interruptions} times in a row while a command of this agent ran, the last ${MAX_DEATHS - 1} times while goald tried it alone, and the last time in ${name}. ` +
      "See what happened: goald logs <agent>, and .goald/log. Then let it go on: goald resume <agent>",
  );

/** The stricter of the effect recorded at the start and the command's current one. */
function rulesEffect(state: AgentState, callId: string, rules: Rules): Effect {
  const open = openCommand(state, callId);
  const now = (open && rules.facts(open.call.name)?.effect) ?? "at-most-once";
  return open?.intent ? stricterEffect(open.intent.effect, now) : now;
}

/** True when an older lease, and so an earlier process, wrote the intent. */
const isInterrupted = (intent: { readonly epoch: number }, rules: Rules): boolean => intent.epoch < rules.epoch;

/** This process started the call and lost its result. That is a bug, and running the call again could double its effect. */
const stillUnderWay = (callId: string): Move =>
  pause(
    "crash-loop",
    `The call ${callId} was started by this process and has no result. Resume the agent to recover as after a crash.`,
  );

function pop(frame: Frame, { resultSeq, problem }: Omit<Extract<Phase, { kind: "ended" }>, "kind">): Move {
  const { id, path, origin } = frame;
  if (!origin) return { kind: "rest" };
  const { step, ordinal, hash } = origin;
  const ended = { resultSeq, ...(problem ? { problem } : {}) };
  return record({ type: "frame-popped", frame: id, step, callId: path, ordinal, hash, ...ended });
}

/** Ends a run without a result: its command reads the problem and decides. The agent itself is paused instead. */
const giveUp = (frame: Frame, code: PauseCode | typeof BAD_RESULT, reason: string): Move =>
  frame.kind === "run"
    ? pop(frame, { resultSeq: null, problem: { code, text: reason } })
    : pause(code === BAD_RESULT ? "bad-replies" : code, reason);

/** Gives up after unreadable replies. The reason says what a person can do about replies of nothing but reasoning. */
function giveUpReading(frame: Frame, isProse: boolean): Move {
  const { badReplies, window } = frame;
  const unread = `${badReplies} replies in a row could not be read as one command${isProse ? "" : " in JSON"}.`;
  const problems = window.filter(({ kind }) => kind === "problem").slice(-badReplies);
  const tokens = problems.reduce((sum, { reasoningTokens = 0 }) => sum + reasoningTokens, 0);
  const reasoning =
    ` Reasoning took ${tokens} tokens of replies that were cut off before an answer began. Allow longer replies with ` +
    "the setting models.replyTokens (GOALD_MODELS_REPLY_TOKENS) or less reasoning with models.reasoningEffort: then goald resume <agent>";
  return giveUp(frame, "bad-replies", tokens === 0 ? unread : unread + reasoning);
}

/** The code of a cell asked to end the work: this stands in for the model's own request. */
const requestCompletion = (frame: Frame, step: number, reason: string): Move => {
  const call = { name: TASK_COMPLETE, args: { reason } };
  const callId = commandCallId(frame, step, 1);
  return record({ type: "command-requested", step, callId, call, thought: reason, repaired: false });
};

function waitOrGiveUp(state: AgentState, phase: Extract<Phase, { kind: "waiting" }>, now: Date): Move {
  const { callId, waitFor, until } = phase;
  const open = openCommand(state, callId);
  if (!open) return lostCall(callId);
  if (until === null || isBefore(now, until)) return waitWithinDeadline(state, waitFor, until, now);
  const observation = { ...endOfWait(state, callId, waitFor, until), source: "goald", artifacts: [] } as const;
  return record({ type: "command-finished", step: open.step, callId, observation, durationMs: 0 });
}

function endOfWait(
  state: AgentState,
  callId: string,
  waitFor: WaitFor,
  until: string,
): Pick<Observation, "status" | "text" | "value"> {
  if (waitFor === "time") return { status: "ok", text: `Waited until ${until}.` };
  const [key, child] = Object.entries(state.children).find(([, each]) => each.callId === callId) ?? [];
  if (waitFor !== "agent" || !child) return { status: "failed", text: `No answer came by ${until}.` };
  const text =
    `${child.name} (key ${key}) is working. Its answer will come to you as a message, as soon as there is one. ` +
    "Go on with something else meanwhile.";
  return { status: "ok", text, ...(isNestedCall(callId) ? { value: { key, answer: null } } : {}) };
}

/** Waits no longer than the agent's deadline. */
function waitWithinDeadline(state: AgentState, waitFor: WaitFor, until: string | null, now: Date): Move {
  const late = deadlinePassed(state, now);
  if (late) return pause(late.code, late.reason);
  return { kind: "wait", waitFor, until: earlier(until, state.settings.deadline) };
}

/** Compares times, not strings: `until` may come from a command. */
const isBefore = (now: Date, time: string): boolean => now.getTime() < Date.parse(time);

/** The last call has ended, and the next one has not begun. */
export const isBetweenCalls = (move: Move): boolean =>
  move.kind === "ask" || (move.kind === "execute" && move.attempt === 1 && isFurtherCall(move.callId));

/** True in phases in which a message may change what the agent does next. */
export function listens(state: AgentState): boolean {
  if (state.paused) return true;
  const { phase } = activeFrame(state);
  switch (phase.kind) {
    case "thinking":
    case "retrying":
    case "awaiting-approval":
    case "waiting":
    case "resting":
      return true;
    case "judging":
      // Words from before a question are no answer to it.
      return isFurtherCall(phase.callId) || openCommand(state, phase.callId)?.call.name === ASK_USER;
    case "asking":
    case "reading":
    case "approved":
    case "executing":
    case "ending":
    case "closing":
    case "ended":
      return false;
  }
}

/** A phase can name a call that is not open only in a damaged log. Pausing avoids an endless loop. */
const lostCall = (callId: string): Move =>
  pause("crash-loop", `The log names a call ${callId} that is not open. Run \`goald verify\`.`);

const pause = (code: PauseCode, reason: string): Move => record({ type: "agent-paused", code, reason });
const record = (...events: NewEvent[]): Move => ({ kind: "record", events });
