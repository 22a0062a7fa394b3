/** store.ts -- what the page knows of the host: its agents and what waits, kept current by one stream of changes. */

import { follow, get, toApiError } from "./api.ts";
import { useEffect, useState } from "./html.ts";
import type { Agent, Status, Waiting } from "./types.ts";
import { lookOf } from "./words.ts";

interface Host {
  agents: readonly Agent[];
  /** Approvals and questions, the oldest first. */
  waiting: readonly Waiting[];
  status: Status | null;
  /** When the daemon stopped answering; null while it answers. Nothing can be asked of it then. */
  lostSince: number | null;
  isLoaded: boolean;
  /** The time by which ages are shown. */
  clock: number;
}
export const host: Host = {
  ...{ agents: [], waiting: [], status: null, lostSince: null, isLoaded: false },
  clock: Date.now(),
};

const listeners = new Set<() => void>();
const changed = (): void => {
  host.clock = Date.now();
  for (const listener of listeners) listener();
};

/** Renders again when the host or the clock has changed. */
export function useHost(): Readonly<Host> {
  const [, setCount] = useState(0);
  useEffect(() => {
    const listener = (): void => setCount((count) => count + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return host;
}
export const findAgent = (id: string | undefined): Agent | undefined =>
  host.agents.find((agent) => agent.id === id) ?? host.agents.find(({ name }) => name === id);

/** Changes when something about the agent may have changed that its own screens show, a few times per step. */
export const pulseOf = ({ id, step, standing, now, received }: Agent): string =>
  [id, step, standing.kind, standing.cause, now.kind, now.command, received.length].join();

interface Changes {
  readonly agents: readonly Agent[];
  readonly removed: readonly string[];
}
export function applyChanges(agents: readonly Agent[], { agents: news, removed }: Changes): readonly Agent[] {
  const byId = new Map([...agents, ...news].map((agent) => [agent.id, agent]));
  for (const id of removed) byId.delete(id);
  return [...byId.values()];
}

/** Resolves when `signal` aborts. Throws ApiError when the session has ended. */
export async function followHost(signal: AbortSignal): Promise<void> {
  const timer = setInterval(() => document.hidden || changed(), 1_000);
  signal.addEventListener("abort", () => clearInterval(timer));
  const onBreak = (): void => {
    host.lostSince ??= Date.now();
    changed();
  };
  let isFirst = true;
  for await (const { event, data } of follow(() => "/changes", signal, onBreak)) {
    if (event === "open") isFirst = true;
    if (event !== "message") continue;
    // The first message of a connection has all agents.
    host.agents = applyChanges(isFirst ? [] : host.agents, data as Changes);
    const isKnown = await loadWaiting(isFirst);
    if (isKnown) Object.assign(host, { lostSince: null, isLoaded: true });
    isFirst &&= !isKnown;
    changed();
  }
}

let asked = "";
/** Loads what waits when an agent begins or ends to wait for a person; false when the daemon does not answer. */
async function loadWaiting(isFirst: boolean): Promise<boolean> {
  const asking = host.agents.filter(({ standing }) => lookOf(standing) === "asks");
  const now = asking.map(({ id, head }) => `${id} ${head}`).join();
  if (now === asked && !isFirst) return true;
  const news = Promise.all([get<Pick<Host, "waiting">>("/waiting"), get<Status>("/status")]);
  const found = await news.catch((thrown: unknown) => {
    if (toApiError(thrown).status === 401) throw thrown;
  });
  if (!found) return false;
  Object.assign(host, { waiting: found[0].waiting, status: found[1] });
  asked = now;
  return true;
}
