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
    let next = Promise.withResolvers<void>();
    const told = (): void => next.resolve();
    const watching = watchers.get(id) ?? new Set();
    watchers.set(id, watching.add(told));
    signal.addEventListener("abort", told, { once: true });
    try {
      for (let seen = 0; !signal.aborted; await next.promise) {
        // Looked at when it is watched already: nothing falls in between.
        next = Promise.withResolvers();
        const head = (await store.agent(id))?.head;
        // A shorter one is that of another agent, which has its name now.
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
