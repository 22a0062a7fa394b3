/** store.ts -- what the page knows of the host: its agents and what waits, kept current by one stream of changes. */
import { apiError, follow, get } from "./api.ts";
import type { Agent, Changes, Status, Waiting } from "./types.ts";
import { lookOf } from "./words.ts";

/** Every screen reads it while it is drawn. */
export const host = {
  agents: [] as readonly Agent[],
  /** Approvals and questions, the oldest first. */
  waiting: [] as readonly Waiting[],
  status: null as Status | null,
  /** When the daemon stopped answering; null while it answers. Nothing can be asked of it then. */
  lostSince: null as number | null,
};

let draw = (): void => undefined;
/** Draws all screens by what the host and the clock say now. */
export function changed(): void {
  const now = needing().map(({ agent, item }) => `${agent.id} ${item?.callId}`);
  if (now.join() !== shown) move();
  shown = now.join();
  draw();
}
let shown = "";

/** A click within this time after a card has come or moved, or a screen was opened, was meant for what was there. */
const STILL_MS = 800;
let movedAt = 0;
export function move(): void {
  movedAt = performance.now();
  setTimeout(changed, STILL_MS + 1);
}
/** Whether what needs a person has stood still long enough to be clicked. */
export const isStill = (): boolean => performance.now() - movedAt > STILL_MS;

export const findAgent = (id: string | undefined): Agent | undefined => host.agents.find((agent) => agent.id === id);

/** Agents that need a person, with what they ask: the oldest first, then those that a limit or a failure stopped. */
export const needing = (): readonly { readonly agent: Agent; readonly item?: Waiting }[] => [
  ...host.waiting.flatMap((item) =>
    host.agents.filter(({ id }) => id === item.agent).map((agent) => ({ agent, item })),
  ),
  ...host.agents.filter(({ standing }) => lookOf(standing) === "stuck").map((agent) => ({ agent })),
];

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
export const isAway = (): boolean => document.hidden || !isConnected;

/** How often a hidden page looks, for the number in its title. A browser has six connections for all pages of a host. */
const HIDDEN_MS = 60_000;

/** Follows the host for the life of the page, and while it is shown. Rejects with ApiError when the session has ended. */
export async function followHost(onChange: () => void): Promise<void> {
  draw = onChange;
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
    // The file of a change can be edited by anybody.
    if (!isAway()) void loadWaiting(host.waiting.some(({ change }) => change !== null));
  }, 1_000);
  const onBreak = (): void => {
    isConnected = false;
    host.lostSince ??= Date.now();
    changed();
  };
  for (; ; stop = new AbortController()) {
    let isFirst = true;
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

/** By whom something waited when that was loaded last; null after no answer, undefined while the answer is due. */
let asked: string | null | undefined = null;
/** Loads what waits when an agent begins or ends to wait for a person, and again after it got no answer. */
async function loadWaiting(isDue: boolean): Promise<void> {
  const asking = host.agents.filter(({ standing }) => lookOf(standing) === "asks");
  const now = asking.map(({ id, head }) => `${id} ${head}`).join();
  if (asked === undefined || (now === asked && !isDue)) return;
  asked = undefined;
  const answers = Promise.all([get<Pick<typeof host, "waiting">>("/waiting"), get<Status>("/status")]);
  const [news, status] = await answers.catch(() => [null, null]);
  asked = news ? now : null;
  if (!news) return;
  Object.assign(host, { waiting: news.waiting, status, lostSince: null });
  changed();
}
