/** event-streams.ts -- counts all clients that follow events, and sends them `bye` when the host shuts down. */
import { EventStream, type Response, type StreamParts, type StreamStart } from "./event-stream.ts";

export interface EventStreams {
  readonly count: number;
  readonly isFull: boolean;
  /** When the last of them ended, as `performance.now()`; 0 if none has. */
  readonly endedAt: number;
  /** `agent`: an id, because a newer agent may take the name. */
  open(agent: string, start: StreamStart, response: Response): void;
  /** Sends committed events, then `bye`. Cuts off clients that do not read it within `flushMs`. */
  close(reason: string): Promise<void>;
}

export function createEventStreams(parts: StreamParts): EventStreams {
  const streams = new Set<EventStream>();
  let farewell: string | undefined;
  let endedAt = 0;

  return {
    get count() {
      return streams.size;
    },
    get endedAt() {
      return endedAt;
    },
    get isFull() {
      return streams.size >= parts.limits.followers;
    },
    open: (agent, start, response) => {
      if (response.destroyed) return;
      const stream = new EventStream(agent, start, response, parts);
      streams.add(stream);
      const leave = parts.control.addFollower(agent, start.hold, (error) => stream.fail(error));
      void stream.closed.then(() => {
        streams.delete(stream);
        endedAt = performance.now();
        leave();
      });
      if (farewell !== undefined) stream.sayBye(farewell);
    },
    close: async (reason) => {
      farewell = reason;
      for (const stream of streams) stream.sayBye(reason);
      const late = setTimeout(() => {
        for (const stream of streams) stream.cutOff();
      }, parts.limits.flushMs);
      await Promise.all([...streams].map(({ closed }) => closed));
      clearTimeout(late);
    },
  };
}
