/**
 * log-step.ts -- what goald's own log says of an agent: one line a step, and one for each turn of its life.
 *
 * A step's line comes with its end: the command and how it ended, the model, how long both took, and what it cost.
 * The events themselves are in the store; with the level `debug` each has a line of its own.
 */
import type { RecordedEvent } from "#core/event.ts";
import type { Log } from "#util/log.ts";

/** What is known of a step that is under way; a process that began in its middle knows less. */
interface StepSoFar {
  model?: string;
  attempts?: number;
  command?: string;
  modelMs?: number;
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  costUsd?: number | null;
}

/** For the committed events of one agent, in order. */
export function createStepLog(log: Log, agent: string): (event: RecordedEvent) => void {
  let soFar: StepSoFar = {};

  function endStep({ seq, step }: { readonly seq: number; readonly step: number }, end: object): void {
    log.info({ agent, seq, step, ...soFar, ...end }, "step");
    soFar = {};
  }

  return (event) => {
    const { seq, type } = event;
    switch (event.type) {
      case "model-asked":
        if (event.attempt === 1) soFar = {};
        soFar.model = event.model;
        soFar.attempts = event.attempt;
        break;
      case "model-replied": {
        const { inputTokens, outputTokens, cachedTokens } = event.usage;
        Object.assign(soFar, { modelMs: event.durationMs, inputTokens, outputTokens, cachedTokens });
        if (event.costUsd !== undefined) soFar.costUsd = event.costUsd;
        break;
      }
      case "command-requested":
        soFar.command = event.call.name;
        break;
      case "command-finished":
        endStep(event, { status: event.observation.status, code: event.observation.code, commandMs: event.durationMs });
        return;
      case "command-denied":
        endStep(event, { status: "denied", by: event.by });
        return;
      case "reply-rejected":
        endStep(event, { status: "bad-reply" });
        return;
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
        log.info({ agent, seq, other: event.agent, standing: event.standing }, type);
        return;
      case "approval-asked":
      case "agent-created":
      case "agent-resumed":
      case "message-received":
      case "task-received":
      case "turn-started":
      case "turn-finished":
        log.info({ agent, seq }, type);
        return;
      case "call-interrupted":
      case "repetition-noticed":
        log.warn({ agent, seq, step: event.step }, type);
        return;
    }
    log.debug({ agent, seq }, type);
  };
}
