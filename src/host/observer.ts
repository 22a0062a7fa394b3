/** observer.ts -- reacts to committed events: log lines, live replies and questions. */
import type { RecordedEvent } from "#core/event.ts";
import type { AgentState } from "#core/state.ts";
import type { Log } from "#util/log.ts";
import type { LiveTextWriter } from "./live-text.ts";
import { createStepLog } from "./log-step.ts";
import type { LoopMeter } from "./loop-meter.ts";

export interface ObserverParts {
  readonly log: Log;
  readonly live: LiveTextWriter;
  readonly meter: LoopMeter;
  /** Called when an agent needs an approval or an answer from a person. */
  onQuestion?(agent: string, state: AgentState): void;
  onCommitted?(agent: string, events: readonly RecordedEvent[]): void;
}

export class Observer {
  readonly #parts: ObserverParts;
  readonly #stepLogs = new Map<string, (event: RecordedEvent) => void>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  committed(id: string, events: readonly RecordedEvent[], state: AgentState): void {
    const { log, live, meter, onQuestion, onCommitted } = this.#parts;
    meter.setBusy(true);
    live.committed(id, events);
    const logStep = this.#stepLogs.get(id) ?? createStepLog(log, id);
    this.#stepLogs.set(id, logStep);
    for (const event of events) logStep(event);
    if (events.some(isQuestion)) onQuestion?.(id, state);
    onCommitted?.(id, events);
  }

  /** `isLast`: no other agent is running. */
  idle(id: string, isLast: boolean): void {
    this.#stepLogs.delete(id);
    if (isLast) this.#parts.meter.setBusy(false);
  }
}

const isQuestion = (event: RecordedEvent): boolean =>
  event.type === "approval-asked" || (event.type === "command-waiting" && event.waitFor === "person");
