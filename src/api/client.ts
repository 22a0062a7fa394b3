/**
 * client.ts -- implements `Control` by requests to a host's socket. Every method throws what the host threw, or
 * GOALD_DAEMON when no reply came. Without a reply it is unknown whether the host acted, so only requests with a key
 * may be repeated.
 */
import type { MemoryChanged } from "#core/ports/memory.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { Control } from "./control.ts";
import { ANSWER_MS, callHost, type Followed, type FollowOptions, followAgent, type HostCall } from "./socket.ts";

/**
 * All methods of a host in another process. Its events come by `follow`. A terminal reads all else from the store, and the
 * page has a client of its own.
 */
export interface Client extends Omit<Control, "whenLonger" | "whenChanged" | "live" | "addFollower"> {
  /** Yields the agent's committed events, and pieces of replies, until the signal is aborted. */
  follow(name: string, options: FollowOptions): AsyncIterable<Followed>;
  readonly socket: string;
}

/** The host replies after it has killed child processes and written the step. */
const KILL_MS = 20_000;
/** A whole history is read and written. */
const RESTORE_MS = 120_000;

/** Connects for each call. `patienceMs`: maximum wait for a reply, except for slow calls. */
export function connectHost(socket: string, patienceMs: number = ANSWER_MS): Client {
  /** `T`: the reply, as the route of the path declares it. */
  const call = <T>(method: HostCall["method"], path: string, body?: unknown, answerMs = patienceMs): Promise<T> =>
    callHost(socket, { method, path, answerMs, body }) as Promise<T>;
  return {
    socket,
    follow: (name, options) => followAgent(socket, addressOf(name, "events"), options),
    status: () => call("GET", "/v1/status"),
    agents: async () => (await call<{ agents: readonly AgentView[] }>("GET", "/v1/agents")).agents,
    agent: (name) => call("GET", addressOf(name)),
    page: (name, after, limit) => call("GET", `${addressOf(name, "events")}?after=${after}&limit=${limit}`),
    create: (agent) => call("POST", "/v1/agents", agent),
    say: (name, words) => call("POST", addressOf(name, "messages"), words),
    setGoals: (name, goals, checks) => call("PUT", addressOf(name, "goals"), { goals, ...(checks ? { checks } : {}) }),
    editPlan: (name, edits) => call("POST", addressOf(name, "plan"), edits),
    changeSettings: (name, settings) => call("PATCH", addressOf(name, "settings"), settings),
    pause: (name, reason) => call("POST", addressOf(name, "pause"), { reason }),
    resume: (name, settings, how) => call("POST", addressOf(name, "resume"), { settings, ...how }),
    beginTurn: (name, turn) => call("POST", addressOf(name, "turns"), turn),
    stop: (name, graceMs) => call("POST", addressOf(name, "stop"), { graceMs }, graceMs + ANSWER_MS),
    kill: (name) => call("POST", addressOf(name, "kill"), {}, KILL_MS),
    answer: (name, answer) => call("POST", addressOf(name, "approval"), answer),
    trust: (name, what) => call("POST", addressOf(name, "trust"), what),
    remove: (name, { force, files }) =>
      call("DELETE", `${addressOf(name)}?force=${force}&files=${files}`, undefined, KILL_MS),
    fork: (name, how) => call("POST", addressOf(name, "fork"), how),
    restore: (name, request) => call("POST", addressOf(name, "restore"), request, RESTORE_MS),
    changeMemory: async (name, changes, key) =>
      (await call<{ changed: readonly MemoryChanged[] }>("POST", addressOf(name, "memory"), { changes, key })).changed,
    reload: async () => (await call<{ changes: readonly string[] }>("POST", "/v1/reload", {})).changes,
    openDashboard: () => call("POST", "/v1/dashboard", {}),
    shutdown: (graceMs) => call("POST", "/v1/shutdown", { graceMs }),
  };
}

/** Returns the path of an agent, or of a resource below it. */
const addressOf = (name: string, ...rest: readonly string[]): string =>
  ["/v1/agents", ...[name, ...rest].map(encodeURIComponent)].join("/");
