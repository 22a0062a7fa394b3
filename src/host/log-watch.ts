/** log-watch.ts -- wakes readers who wait for an agent's log to become longer. */
import type { Store } from "#core/ports/store.ts";

export interface LogWatch {
  /** Call when the agent's log is longer, or when the agent was removed. */
  tell(agent: string): void;
  /** Resolves when the log is longer than `after`, the agent is removed, or the signal is aborted. */
  whenLonger(agent: string, after: number, signal: AbortSignal): Promise<void>;
}

export function createLogWatch(store: Pick<Store, "agent">): LogWatch {
  const watchers = new Map<string, Set<() => void>>();

  async function whenLonger(id: string, after: number, signal: AbortSignal): Promise<void> {
    let next = Promise.withResolvers<void>();
    const told = (): void => next.resolve();
    const watching = watchers.get(id) ?? new Set();
    watchers.set(id, watching.add(told));
    signal.addEventListener("abort", told, { once: true });
    try {
      for (let seen = 0; !signal.aborted; await next.promise) {
        // Reads the head after the watch has started, so that no commit is missed.
        next = Promise.withResolvers();
        const head = (await store.agent(id))?.head;
        // A shorter log belongs to a newer agent with the same id.
        if (head === undefined || head > after || head < seen) return;
        seen = head;
      }
    } finally {
      signal.removeEventListener("abort", told);
      watching.delete(told);
      if (watching.size === 0 && watchers.get(id) === watching) watchers.delete(id);
    }
  }

  return {
    tell: (id) => {
      for (const tell of watchers.get(id) ?? []) tell();
    },
    whenLonger,
  };
}
