/**
 * client.ts -- calls the host of another process through its socket.
 *
 * Every method throws what the host threw, or GOALD_DAEMON when there was no answer: then it is not known whether the call
 * took effect, and only one with a key may be repeated.
 */
import type { MemoryChanged } from "#core/ports/memory-row.ts";
import type { AgentView, Control, DaemonStatus, Done, EventPage, ForkedAgent } from "./control.ts";
import { type Followed, type FollowOptions, followAgent } from "./follow.ts";
import { ANSWER_MS, type Call, callHost } from "./socket.ts";

/** What a terminal asks of the host that runs its agent, in this process or in another one. */
export interface HostClient
  extends Pick<Control, "agents" | "agent" | "create" | "resume" | "pause" | "kill" | "say" | "answer" | "page"> {
  /** The agent's committed events, and what arrives of replies, until the signal is aborted. */
  follow(name: string, options: FollowOptions): AsyncIterable<Followed>;
}

/** All that a host in another process can be asked. */
export interface Client extends HostClient, Omit<Control, "whenLonger" | "live"> {
  /** Where the host listens. */
  readonly socket: string;
}

/** Child processes are killed and the step is written before it answers. */
const KILL_MS = 20_000;

/** Connects at each call; nothing is held open but what is followed. `patienceMs`: for an answer, unless the call itself takes time. */
export function connectHost(socket: string, patienceMs: number = ANSWER_MS): Client {
  const call = (
    method: Call["method"],
    path: string,
    body?: unknown,
    answerMs: number = patienceMs,
  ): Promise<unknown> => callHost(socket, { method, path, answerMs, ...(body === undefined ? {} : { body }) });
  const done = (method: Call["method"], path: string, body: unknown, answerMs?: number): Promise<Done> =>
    call(method, path, body, answerMs) as Promise<Done>;
  return {
    socket,
    status: () => call("GET", "/v1/status") as Promise<DaemonStatus>,
    agents: async () => ((await call("GET", "/v1/agents")) as { readonly agents: readonly AgentView[] }).agents,
    agent: (name) => call("GET", pathOf(name)) as Promise<AgentView>,
    create: (agent) => call("POST", "/v1/agents", agent) as Promise<AgentView>,
    say: (name, words) => done("POST", pathOf(name, "messages"), words),
    setGoals: (name, goals) => done("PUT", pathOf(name, "goals"), { goals }),
    changeSettings: (name, settings) => done("PATCH", pathOf(name, "settings"), settings),
    pause: (name, reason) => done("POST", pathOf(name, "pause"), { reason }),
    resume: (name, settings, how) => done("POST", pathOf(name, "resume"), { settings, ...how }),
    stop: (name, graceMs) => done("POST", pathOf(name, "stop"), { graceMs }, graceMs + ANSWER_MS),
    kill: (name) => done("POST", pathOf(name, "kill"), {}, KILL_MS),
    answer: (name, answer) => done("POST", pathOf(name, "approval"), answer),
    remove: (name, { force, files }) =>
      call("DELETE", `${pathOf(name)}?force=${force}&files=${files}`, undefined, KILL_MS) as ReturnType<
        Client["remove"]
      >,
    fork: (name, how) => call("POST", pathOf(name, "fork"), how) as Promise<ForkedAgent>,
    changeMemory: async (name, changes, key) => {
      const answer = await call("POST", pathOf(name, "memory"), { changes, key });
      return (answer as { readonly changed: readonly MemoryChanged[] }).changed;
    },
    page: (name, after, limit) =>
      call("GET", `${pathOf(name, "events")}?after=${after}&limit=${limit}`) as Promise<EventPage>,
    reload: async () => ((await call("POST", "/v1/reload", {})) as { readonly changes: readonly string[] }).changes,
    shutdown: async (graceMs) => {
      await call("POST", "/v1/shutdown", { graceMs });
    },
    follow: (name, options) => followAgent(socket, pathOf(name, "events"), options),
  };
}

const pathOf = (name: string, ...rest: readonly string[]): string =>
  ["/v1/agents", encodeURIComponent(name), ...rest].join("/");
