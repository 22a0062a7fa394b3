/** observer.ts -- reacts to committed events: log lines and live replies. */
import { EventEmitter } from "node:events";
import type { LiveReply } from "#api/control.ts";
import type { RecordedEvent } from "#core/event.ts";
import { isFurtherCall, isNestedCall } from "#core/frames.ts";
import { headOf } from "#core/text.ts";
import type { Log } from "#util/log.ts";
import { cutToWholeWords } from "#util/outside-text.ts";
import type { LoopMeter } from "./host-status.ts";

export interface ObserverParts {
  readonly log: Log;
  readonly live: ReturnType<typeof createLiveText>;
  readonly meter: LoopMeter;
  onCommitted?(agent: string, events: readonly RecordedEvent[]): void;
}

export function createObserver({ log, live, meter, onCommitted }: ObserverParts) {
  const stepLogs = new Map<string, (event: RecordedEvent) => void>();
  return {
    committed: (id: string, events: readonly RecordedEvent[]): void => {
      meter.setBusy(true);
      live.committed(id, events);
      const logStep = stepLogs.get(id) ?? createStepLog(log, id);
      stepLogs.set(id, logStep);
      for (const event of events) logStep(event);
      onCommitted?.(id, events);
    },
    /** `isLast`: no other agent is running. */
    idle: (id: string, isLast: boolean): void => {
      stepLogs.delete(id);
      if (isLast) meter.setBusy(false);
    },
  };
}

/** Longer replies are shown only when they are committed. */
const MAX_CHARS = 64 * 1024;
const NO_REPLY: LiveReply = { seq: 0, text: "" };

/**
 * Keeps the reply that a model is sending, and the last line that a cell has printed, for display only, since they are not
 * committed.
 *
 * It keeps the whole text until the reply is committed, so that late readers see its beginning.
 */
export function createLiveText() {
  const replies = new Map<string, LiveReply>();
  const changes = new EventEmitter().setMaxListeners(0);
  const put = (agent: string, reply: LiveReply): void => {
    replies.set(agent, reply);
    changes.emit(`reply of ${agent}`);
  };
  return {
    of: (agent: string) => replies.get(agent),
    listen: (agent: string, hear: () => void) => {
      changes.on(`reply of ${agent}`, hear);
      return () => void changes.off(`reply of ${agent}`, hear);
    },
    tell: (agent: string, piece: string): void => {
      const reply = replies.get(agent);
      if (reply && reply.text.length <= MAX_CHARS) put(agent, { ...reply, text: reply.text + piece });
    },
    print: (agent: string, printed: string) => put(agent, { ...(replies.get(agent) ?? NO_REPLY), printed }),
    committed: (agent: string, events: readonly RecordedEvent[]): void => {
      for (const { type, seq } of events)
        if (type === "model-asked") replies.set(agent, { seq, text: "" });
        else replies.delete(agent);
    },
  };
}

/** The known facts about the current step; fewer if this process started in the middle of it. */
interface StepSoFar {
  model?: string;
  attempts?: number;
  command?: string | undefined;
  /** Names of the further commands of the reply, in order. */
  further?: readonly string[];
  modelMs?: number;
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  costUsd?: number | null;
}

/**
 * Writes an agent's lines in goald's own log: one per step, and one per change of state. A step's line is written at
 * its end, with command, status, model, durations and cost. Further calls of the same reply get lines without the
 * model's figures. The store has the events themselves. With the level `debug`, each event has its own line. Call the
 * returned function with the committed events of one agent, in order.
 */
export function createStepLog(log: Log, agent: string): (event: RecordedEvent) => void {
  let soFar: StepSoFar = {};
  return (event) => {
    // The end of a nested call does not end the step of its command.
    if ("callId" in event && isNestedCall(event.callId) && event.type !== "goals-checked") {
      log.debug({ agent, seq: event.seq }, event.type);
      return;
    }
    soFar = addTo(soFar, event);
    const end = endOf(event);
    if (!end) {
      logEvent(log, agent, event);
      return;
    }
    const { seq, step, ...more } = end;
    const { further: [command, ...further] = [], ...known } = soFar;
    log[end.status === "bad-reply" ? "warn" : "info"]({ agent, seq, step, ...known, ...more }, "step");
    soFar = command === undefined ? {} : { command, further };
  };
}

function addTo(soFar: StepSoFar, event: RecordedEvent): StepSoFar {
  switch (event.type) {
    case "model-asked":
      return { ...(event.attempt === 1 ? {} : soFar), model: event.model, attempts: event.attempt };
    case "model-replied": {
      const { inputTokens, outputTokens, cachedTokens } = event.usage;
      const cost = event.costUsd === undefined ? {} : { costUsd: event.costUsd };
      return { ...soFar, modelMs: event.durationMs, inputTokens, outputTokens, cachedTokens, ...cost };
    }
    case "command-requested":
      if (!isFurtherCall(event.callId)) return { ...soFar, command: event.call.name };
      return { ...soFar, further: [...(soFar.further ?? []), event.call.name] };
    default:
      return soFar;
  }
}

/** Returns how the step ended; undefined when the event does not end one. */
function endOf(event: RecordedEvent) {
  switch (event.type) {
    case "command-finished": {
      const { seq, step, observation, durationMs } = event;
      const { status, code, text } = observation;
      const why = status === "ok" ? {} : { why: firstLineOf(headOf(text)) };
      return { seq, step, status, code, commandMs: durationMs, ...why };
    }
    case "command-denied":
      return { seq: event.seq, step: event.step, status: "denied", by: event.by };
    case "reply-rejected":
      return { seq: event.seq, step: event.step, status: "bad-reply", problems: event.problems.join(" ") };
    default:
      return undefined;
  }
}

const MAX_WHY_CHARS = 300;
/**
 * The first line names the error, of a cell too; that of a helper's report only names the helper. It ends with a whole word,
 * because a cut one could be half a secret.
 */
const firstLineOf = (text: string): string =>
  cutToWholeWords(`${text.trim().replace(/^(.*:)\n/, "$1 ")}\n`.slice(0, MAX_WHY_CHARS)).replace(/\n.*/s, "");

function logEvent(log: Log, agent: string, event: RecordedEvent): void {
  const { seq, type } = event;
  switch (event.type) {
    case "model-failed":
      log.warn({ agent, seq, step: event.step, code: event.code, retryAt: event.retryAt }, event.message);
      return;
    case "agent-paused":
      log.warn({ agent, seq, code: event.code }, event.reason);
      return;
    case "agent-started":
    case "agent-told":
    case "agent-ended":
      log.info({ agent, seq, other: event.agent }, type);
      return;
    case "agent-reported":
      log.info({ agent, seq, other: event.agent, status: event.status }, type);
      return;
    case "approval-asked":
    case "agent-created":
    case "agent-resumed":
    case "files-restored":
    case "message-received":
    case "task-received":
    case "turn-started":
    case "turn-finished":
      log.info({ agent, seq }, type);
      return;
    case "task-added":
    case "task-changed":
      log[event.by === "person" ? "info" : "debug"]({ agent, seq }, type);
      return;
    case "goals-checked": {
      const failed = event.results.filter(({ isPassed }) => !isPassed).length;
      const counts = { passed: event.results.length - failed, failed };
      log[failed > 0 ? "warn" : "info"]({ agent, seq, step: event.step, ...counts }, type);
      return;
    }
    case "call-interrupted":
    case "repetition-noticed":
      log.warn({ agent, seq, step: event.step }, type);
      return;
    default:
      log.debug({ agent, seq }, type);
  }
}
