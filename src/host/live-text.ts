/**
 * live-text.ts -- keeps the reply that a model is sending, for display only, since it is not committed.
 *
 * It keeps the whole text until the reply is committed, so that late readers see its beginning.
 */
import type { LiveReply, LiveText } from "#api/live-text.ts";
import type { RecordedEvent } from "#core/event.ts";

export interface LiveTextWriter extends LiveText {
  tell(agent: string, piece: string): void;
  committed(agent: string, events: readonly RecordedEvent[]): void;
}

/** Longer replies are shown only when they are committed. */
const MAX_CHARS = 64 * 1024;

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
