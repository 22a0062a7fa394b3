/**
 * live-text.ts -- the reply that a model is giving now, for eyes only: nothing of it has happened.
 *
 * Kept for as long as the question is open, so that who comes late sees it from its beginning; the committed reply
 * takes its place.
 */
import type { LiveReply, LiveText } from "#api/live-text.ts";
import type { RecordedEvent } from "#core/event.ts";

export interface LiveTextWriter extends LiveText {
  tell(agent: string, piece: string): void;
  committed(agent: string, events: readonly RecordedEvent[]): void;
}

/** A reply that is longer is shown when it is there. */
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
