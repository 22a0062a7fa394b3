/** observer.ts -- reacts to committed events: log lines and live replies. */
import type { LiveReply, LiveText } from "#api/control.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { Log } from "#util/log.ts";
import type { LoopMeter } from "./host-status.ts";
import { createStepLog } from "./log-step.ts";

export interface ObserverParts {
  readonly log: Log;
  readonly live: LiveTextWriter;
  readonly meter: LoopMeter;
  onCommitted?(agent: string, events: readonly RecordedEvent[]): void;
}

export class Observer {
  readonly #parts: ObserverParts;
  readonly #stepLogs = new Map<string, (event: RecordedEvent) => void>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  committed(id: string, events: readonly RecordedEvent[]): void {
    const { log, live, meter, onCommitted } = this.#parts;
    meter.setBusy(true);
    live.committed(id, events);
    const logStep = this.#stepLogs.get(id) ?? createStepLog(log, id);
    this.#stepLogs.set(id, logStep);
    for (const event of events) logStep(event);
    onCommitted?.(id, events);
  }

  /** `isLast`: no other agent is running. */
  idle(id: string, isLast: boolean): void {
    this.#stepLogs.delete(id);
    if (isLast) this.#parts.meter.setBusy(false);
  }
}

interface LiveTextWriter extends LiveText {
  tell(agent: string, piece: string): void;
  committed(agent: string, events: readonly RecordedEvent[]): void;
}

/** Longer replies are shown only when they are committed. */
const MAX_CHARS = 64 * 1024;

/**
 * Keeps the reply that a model is sending, for display only, since it is not committed.
 *
 * It keeps the whole text until the reply is committed, so that late readers see its beginning.
 */
export function createLiveText(): LiveTextWriter {
  const replies = new Map<string, LiveReply>();
  const listeners = new Map<string, Set<() => void>>();
  return {
    of: (agent) => replies.get(agent),
    listen: (agent, hear) => {
      const all = listeners.get(agent) ?? new Set();
      listeners.set(agent, all.add(hear));
      return () => {
        all.delete(hear);
        if (all.size === 0 && listeners.get(agent) === all) listeners.delete(agent);
      };
    },
    tell: (agent, piece) => {
      const reply = replies.get(agent);
      if (!reply || reply.text.length > MAX_CHARS) return;
      replies.set(agent, { ...reply, text: reply.text + piece });
      for (const hear of listeners.get(agent) ?? []) hear();
    },
    committed: (agent, events) => {
      for (const { type, seq } of events)
        if (type === "model-asked") replies.set(agent, { seq, text: "" });
        else replies.delete(agent);
    },
  };
}
