/** store.ts -- what the page knows of the host: its agents and what waits, kept current by one stream of changes. */
import { apiError, follow, get, toApiError } from "./api.ts";
import { useLayoutEffect, useState } from "./html.ts";
import type { Agent, Changes, Status, Waiting } from "./types.ts";
import { lookOf } from "./words.ts";

export const host = {
  agents: [] as readonly Agent[],
  /** Approvals and questions, the oldest first. */
  waiting: [] as readonly Waiting[],
  status: null as Status | null,
  /** When the daemon stopped answering; null while it answers. Nothing can be asked of it then. */
  lostSince: null as number | null,
  /** No approval, question or stuck agent came or went within STILL_MS, and no other screen was opened. */
  isStill: true,
  /** The time by which ages are shown. */
  clock: Date.now(),
};

const listeners = new Set<() => void>();
const changed = (): void => {
  noteMoves();
  host.clock = Date.now();
  for (const listener of listeners) listener();
};

/** Reads again when the host or the clock has changed, and renders again only when the value has. */
function useValue<T>(read: () => T): T {
  const [value, setValue] = useState(read());
  useLayoutEffect(() => {
    const listener = (): void => setValue(read());
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return value;
}
/** A copy renders again at each change. */
export const useHost = (): Readonly<typeof host> => useValue(() => ({ ...host }));
export const useLost = (): boolean => useValue(isAway);
/** Whether what needs a person has stood still long enough to be clicked. */
export const useStill = (): boolean => useValue(() => host.isStill);

export const findAgent = (id: string | undefined): Agent | undefined =>
  host.agents.find((agent) => agent.id === id) ?? host.agents.find(({ name }) => name === id);

/** Agents that a limit or a failure stopped: a person must see to them. */
export const stuckAgents = (): readonly Agent[] => host.agents.filter(({ standing }) => lookOf(standing) === "stuck");

/** Changes when something about the agent may have changed that its own screens show, a few times per step. */
export const pulseOf = ({ id, step, standing: { kind, cause }, now, received, head, budget }: Agent): string =>
  [id, step, kind, cause, now.kind, now.command, received.length, budget?.spentUsd, kind !== "running" && head].join();

export function applyChanges(agents: readonly Agent[], { agents: news, removed }: Changes): readonly Agent[] {
  const byId = new Map([...agents, ...news].map((agent) => [agent.id, agent]));
  for (const id of removed) byId.delete(id);
  return [...byId.values()];
}

let isConnected = false;
/** Nothing can be asked for: the daemon does not answer, the page is hidden, or the daemon gave no proof since it was. */
const isAway = (): boolean => document.hidden || !isConnected;

/** How often a hidden page looks, for the number in its title. A browser has six connections for all pages of a host. */
const HIDDEN_MS = 60_000;

/** Follows the host for the life of the page, and while it is shown. Rejects with ApiError when the session has ended. */
export async function followHost(): Promise<void> {
  let stop = new AbortController();
  const look = (): void => {
    if (document.hidden) {
      stop.abort();
      isConnected = false;
    }
    changed();
  };
  addEventListener("visibilitychange", look);
  setInterval(() => {
    if (!document.hidden) changed();
    // The file of a change can be edited by anybody, and a failed answer is asked for again.
    const isDue = isBehind || (!document.hidden && host.waiting.some(({ change }) => change !== null));
    if (isDue && isConnected) loadWaiting(true).then(changed, () => undefined);
  }, 1_000);
  addEventListener("hashchange", move);
  const onBreak = (): void => {
    isConnected = false;
    host.lostSince ??= Date.now();
    changed();
  };
  for (let isFirst = true; ; stop = new AbortController()) {
    for await (const { event, data } of follow(() => "/changes", stop.signal, onBreak)) {
      if (event === "open") isFirst = true;
      // The daemon ends in order, and all sessions with it.
      if (event === "bye") throw apiError(401, "The session has ended.");
      if (event !== "message") continue;
      // The first message of a connection has all agents.
      host.agents = applyChanges(isFirst ? [] : host.agents, data as Changes);
      isConnected = true;
      await loadWaiting(isFirst);
      isFirst = false;
      look();
    }
    await new Promise((done) => {
      setTimeout(done, document.hidden ? HIDDEN_MS : 0);
      addEventListener("visibilitychange", done, { once: true });
    });
  }
}

/** Within this time after a card has moved or come, a click was meant for what stood there before. */
const STILL_MS = 800;
let stillTimer: ReturnType<typeof setTimeout> | undefined;
function move(): void {
  host.isStill = false;
  clearTimeout(stillTimer);
  stillTimer = setTimeout(() => {
    host.isStill = true;
    changed();
  }, STILL_MS);
}

let needs = "";
function noteMoves(): void {
  const calls = host.waiting.map(({ agent, callId }) => `${agent} ${callId}`);
  const now = [...calls, ...stuckAgents().map(({ id }) => id)].join();
  if (now !== needs) move();
  needs = now;
}

let asked = "";
/** The last question for what waits was not answered. */
let isBehind = false;
/** Loads what waits when an agent begins or ends to wait for a person. */
async function loadWaiting(isFirst: boolean): Promise<void> {
  const asking = host.agents.filter(({ standing }) => lookOf(standing) === "asks");
  const now = asking.map(({ id, head }) => `${id} ${head}`).join();
  if (now === asked && !isFirst) return;
  const news = Promise.all([get<Pick<typeof host, "waiting">>("/waiting"), get<Status>("/status")]);
  const found = await news.catch((thrown: unknown) => {
    if (toApiError(thrown).status === 401) throw thrown;
  });
  isBehind = !found;
  if (!found) return;
  Object.assign(host, { waiting: found[0].waiting, status: found[1], lostSince: null });
  asked = now;
}
