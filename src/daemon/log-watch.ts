/** log-watch.ts -- who waits for an agent's log to become longer, and is told when it has. */
import type { Store } from "#core/ports/store.ts";

export interface LogWatch {
  /** The agent's log is longer now, or the agent is gone. */
  tell(agent: string): void;
  /** Resolves when its log is longer than `after`, when it is gone, or when the signal is aborted. */
  whenLonger(agent: string, after: number, signal: AbortSignal): Promise<void>;
}

export function createLogWatch(store: Pick<Store, "agent">): LogWatch {
  const watchers = new Map<string, Set<() => void>>();

  async function whenLonger(id: string, after: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const told = (): void => resolve();
    const watching = watchers.get(id) ?? new Set();
    watchers.set(id, watching.add(told));
    signal.addEventListener("abort", told, { once: true });
    try {
      // Looked at when it is watched already: nothing falls in between.
      const row = await store.agent(id);
      if (row !== undefined && row.head <= after && !signal.aborted) await promise;
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
