/**
 * client.ts -- implements `Control` by requests to a host's socket.
 *
 * Every method throws what the host threw, or GOALD_DAEMON when no reply came. Without a reply it is unknown whether
 * the host acted, so only requests with a key may be repeated.
 */
import type { MemoryChanged } from "#core/ports/memory.ts";
import type { AgentView } from "#views/agent-view.ts";
import type { RestorePlan } from "#views/restore-plan.ts";
import type { Control } from "./control.ts";
import type { ControlResult, DaemonStatus, DashboardLink, ForkedAgent } from "./schemas.ts";
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
  const call = (method: HostCall["method"], path: string, body?: unknown, answerMs = patienceMs): Promise<unknown> =>
    callHost(socket, { method, path, answerMs, ...(body === undefined ? {} : { body }) });
  const change = (method: HostCall["method"], path: string, body: unknown, answerMs?: number): Promise<ControlResult> =>
    call(method, path, body, answerMs) as Promise<ControlResult>;
  return {
    socket,
    follow: (name, options) => followAgent(socket, addressOf(name, "events"), options),
    status: () => call("GET", "/v1/status") as Promise<DaemonStatus>,
    agents: async () => ((await call("GET", "/v1/agents")) as { readonly agents: readonly AgentView[] }).agents,
    agent: (name) => call("GET", addressOf(name)) as Promise<AgentView>,
    page: (name, after, limit) =>
      call("GET", `${addressOf(name, "events")}?after=${after}&limit=${limit}`) as ReturnType<Client["page"]>,
    create: (agent) => call("POST", "/v1/agents", agent) as Promise<AgentView>,
    say: (name, words) => change("POST", addressOf(name, "messages"), words),
    setGoals: (name, goals, checks) =>
      change("PUT", addressOf(name, "goals"), { goals, ...(checks ? { checks } : {}) }),
    editPlan: (name, edits) => call("POST", addressOf(name, "plan"), edits) as ReturnType<Client["editPlan"]>,
    changeSettings: (name, settings) => change("PATCH", addressOf(name, "settings"), settings),
    pause: (name, reason) => change("POST", addressOf(name, "pause"), { reason }),
    resume: (name, settings, how) => change("POST", addressOf(name, "resume"), { settings, ...how }),
    beginTurn: (name, turn) => change("POST", addressOf(name, "turns"), turn),
    stop: (name, graceMs) => change("POST", addressOf(name, "stop"), { graceMs }, graceMs + ANSWER_MS),
    kill: (name) => change("POST", addressOf(name, "kill"), {}, KILL_MS),
    answer: (name, answer) => change("POST", addressOf(name, "approval"), answer),
    trust: (name, what) => call("POST", addressOf(name, "trust"), what) as ReturnType<Client["trust"]>,
    remove: (name, { force, files }) =>
      call("DELETE", `${addressOf(name)}?force=${force}&files=${files}`, undefined, KILL_MS) as ReturnType<
        Client["remove"]
      >,
    fork: (name, how) => call("POST", addressOf(name, "fork"), how) as Promise<ForkedAgent>,
    restore: (name, request) => call("POST", addressOf(name, "restore"), request, RESTORE_MS) as Promise<RestorePlan>,
    changeMemory: async (name, changes, key) => {
      const reply = await call("POST", addressOf(name, "memory"), { changes, key });
      return (reply as { readonly changed: readonly MemoryChanged[] }).changed;
    },
    reload: async () => ((await call("POST", "/v1/reload", {})) as { readonly changes: readonly string[] }).changes,
    openDashboard: () => call("POST", "/v1/dashboard", {}) as Promise<DashboardLink>,
    shutdown: async (graceMs) => {
      await call("POST", "/v1/shutdown", { graceMs });
    },
  };
}

/** Returns the path of an agent, or of a resource below it. */
const addressOf = (name: string, ...rest: readonly string[]): string =>
  ["/v1/agents", ...[name, ...rest].map(encodeURIComponent)].join("/");
