/**
 * client.ts -- implements `Control` and `Reading` by requests to a host's socket.
 *
 * Every method throws what the host threw, or GOALD_DAEMON when no reply came. Without a reply it is unknown whether
 * the host acted, so only requests with a key may be repeated.
 */
import type { MemoryChanged } from "#core/ports/memory.ts";
import type { MemoryPlace } from "#views/memory-view.ts";
import type { Control, Reading } from "./control.ts";
import { ANSWER_MS, callHost, type Followed, type FollowOptions, followAgent, type HostCall } from "./socket.ts";

/** All methods of a host in another process. */
export interface Client extends Omit<Control, "whenLonger" | "whenChanged" | "live" | "addFollower">, Reading {
  /** Yields the agent's committed events, and pieces of replies, until the signal is aborted. */
  follow(name: string, options: FollowOptions): AsyncIterable<Followed>;
  readonly socket: string;
}

/** The host replies after it has killed child processes and written the step. */
const KILL_MS = 20_000;

/** Connects for each call. `patienceMs`: maximum wait for a reply, except for slow calls. */
export function connectHost(socket: string, patienceMs: number = ANSWER_MS): Client {
  const call: CallHost = (method, path, body, answerMs = patienceMs) =>
    callHost(socket, { method, path, answerMs, ...(body === undefined ? {} : { body }) }) as Promise<never>;
  return {
    socket,
    ...createReadingClient(call),
    ...createControlClient(call),
    follow: (name, options) => followAgent(socket, addressOf(name, "events"), options),
  };
}

type ControlClient = Omit<Control, "whenLonger" | "whenChanged" | "live" | "addFollower" | "agents" | "agent" | "page">;

function createControlClient(call: CallHost): ControlClient {
  return {
    status: () => call("GET", "/v1/status"),
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
    restore: (name, request) => call("POST", addressOf(name, "restore"), request, LONG_MS),
    changeMemory: async (name, changes, key) => {
      const reply = await call<{ changed: readonly MemoryChanged[] }>("POST", addressOf(name, "memory"), {
        changes,
        key,
      });
      return reply.changed;
    },
    reload: async () => (await call<{ changes: readonly string[] }>("POST", "/v1/reload", {})).changes,
    openDashboard: () => call("POST", "/v1/dashboard", {}),
    shutdown: (graceMs) => call("POST", "/v1/shutdown", { graceMs }),
  };
}

/** `T`: the reply, as the route of the path declares it. */
type CallHost = <T>(method: HostCall["method"], path: string, body?: unknown, answerMs?: number) => Promise<T>;

/** Timeout for methods that read a whole log or history, or search it. */
const LONG_MS = 120_000;

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

function createReadingClient(call: CallHost): Reading {
  const get = <T>(path: string, query: Query = {}, answerMs?: number): Promise<T> =>
    call("GET", `${path}${textOf(query)}`, undefined, answerMs);
  const memoryOf = ({ name }: MemoryPlace, ...rest: readonly string[]): string => addressOf(name, "memory", ...rest);
  return {
    agents: async () => (await get<{ agents: Awaited<ReturnType<Reading["agents"]>> }>("/v1/agents")).agents,
    agent: (name) => get(addressOf(name)),
    details: (name) => get(addressOf(name, "details")),
    state: (name) => get(addressOf(name, "state")),
    goals: (name) => get(addressOf(name, "goals")),
    plan: (name) => get(addressOf(name, "plan")),
    waiting: async () => (await get<{ waiting: Awaited<ReturnType<Reading["waiting"]>> }>("/v1/waiting")).waiting,
    page: (name, after, limit) => get(addressOf(name, "events"), { after, limit }),
    steps: (name, page) => get(addressOf(name, "steps"), { ...page }, LONG_MS),
    step: (name, step) => get(addressOf(name, "steps", `${step}`), {}, LONG_MS),
    files: (name, wanted = {}) => get(addressOf(name, "files"), { ...wanted }, LONG_MS),
    file: (name, path, step) => get(addressOf(name, "files", path), { step }),
    fileStory: (name, path) => get(addressOf(name, "files", path, "story"), {}, LONG_MS),
    diff: (name, { paths, ...range }) => get(addressOf(name, "diff"), { ...range, path: paths }, LONG_MS),
    restorePlan: (name, step, paths) => get(addressOf(name, "restore-plan"), { step, path: paths }, LONG_MS),
    report: (name) => get(addressOf(name, "report"), {}, LONG_MS),
    memories: (place, filter) => get(memoryOf(place), { shared: place.shared, ...filter }, LONG_MS),
    memoryPage: (place, page) => get(memoryOf(place, "changes"), { shared: place.shared, ...page }),
    memory: (place, id) => get(memoryOf(place, id), { shared: place.shared }),
    searchMemory: (place, query, limit) =>
      get(memoryOf(place, "search"), { shared: place.shared, query, limit }, LONG_MS),
    verify: (name) => get(name === null ? "/v1/verify" : addressOf(name, "verify"), {}, LONG_MS),
  };
}

/** Returns the path of an agent, or of a resource below it. */
const addressOf = (name: string, ...rest: readonly string[]): string =>
  ["/v1/agents", ...[name, ...rest].map(encodeURIComponent)].join("/");

/** Leaves out absent members, and repeats the name for each item of a list. */
function textOf(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined) for (const item of [value].flat()) params.append(name, String(item));
  return params.size === 0 ? "" : `?${params}`;
}
