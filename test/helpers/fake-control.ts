/**
 * fake-control.ts -- a Control without a host: logs in memory that a test extends, and a record of every call.
 *
 * It keeps the contract of api/control.ts: names and ids, GOALD_NOT_FOUND, pages without gaps, and waits
 * that end when the log is longer, the agent is removed or the signal aborts.
 */

import { type Control, PROTOCOL_VERSION, type Reading } from "#api/control.ts";
import type { ControlResult, DaemonStatus } from "#api/schemas.ts";
import { GoaldError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { createLiveText } from "#host/observer.ts";
import type { AgentView } from "#views/agent-view.ts";
import { RestorePlan } from "#views/restore-plan.ts";
import { fakeReading, sampleOf } from "./fake-reading.ts";

export interface FakeControl extends Control, Reading {
  /** All calls in order, except `page`. */
  readonly calls: readonly { readonly method: string; readonly given: readonly unknown[] }[];
  /** Number of pages read, by agent. */
  readonly pagesRead: ReadonlyMap<string, number>;
  /** Number of pending waits for a longer log. */
  readonly waits: number;
  /** Adds an agent with `count` events. The id is the name in lower case, with `-2` and so on when taken. */
  add(name: string, count: number): string;
  append(id: string, count: number, text?: string): void;
  /** Adds a piece to the streamed reply for the `model-asked` event `seq`. */
  addText(id: string, seq: number, piece: string): void;
  /** Makes the last `count` events unreadable without shortening the log, to simulate damage. */
  damage(id: string, count: number): void;
  /** Makes every later call of `method` throw `thrown`. */
  fail(method: keyof Control | keyof Reading, thrown: unknown): void;
  /** Makes calls of `method` wait until the returned function is called. */
  hold(method: keyof Control | keyof Reading): () => void;
}

interface FakeAgent {
  readonly view: AgentView;
  readonly log: RecordedEvent[];
  /** Number of unreadable events at the end of the log. */
  lost: number;
}

export function makeFakeControl(): FakeControl {
  const agents = new Map<string, FakeAgent>();
  const calls: { method: string; given: readonly unknown[] }[] = [];
  const pagesRead = new Map<string, number>();
  const waits = new Set<() => void>();
  const failures = new Map<string, unknown>();
  const holds = new Map<string, Promise<void>>();

  function find(name: string): FakeAgent {
    const found = agents.get(name) ?? [...agents.values()].findLast(({ view }) => view.name === name);
    if (found) return found;
    throw new GoaldError("GOALD_NOT_FOUND", `There is no agent ${name}.`, { hint: "See: goald ps -a" });
  }
  async function enter(method: string, ...given: readonly unknown[]): Promise<void> {
    if (method === "page") pagesRead.set(String(given[0]), (pagesRead.get(String(given[0])) ?? 0) + 1);
    else if (method !== "whenLonger") calls.push({ method, given });
    await holds.get(method);
    if (failures.has(method)) throw failures.get(method);
  }
  async function steer(method: string, name: string, ...given: readonly unknown[]): Promise<ControlResult> {
    await enter(method, name, ...given);
    return { agent: find(name).view, note: "" };
  }
  function add(name: string, count: number): string {
    let id = name.toLowerCase();
    for (let number = 2; agents.has(id); number++) id = `${name.toLowerCase()}-${number}`;
    agents.set(id, { view: viewOf(id, name), log: [], lost: 0 });
    append(id, count);
    return id;
  }
  function append(id: string, count: number, text = `said to ${id}`): void {
    const { log } = find(id);
    for (let left = count; left > 0; left--) log.push(eventOf(log.length + 1, text));
    for (const look of [...waits]) look();
  }

  const live = createLiveText();
  return {
    ...fakeReading(enter, (name) => void find(name)),
    calls,
    live,
    addFollower: () => () => undefined,
    addText: (id, seq, piece) => {
      if (live.of(id)?.seq !== seq) live.committed(id, [{ type: "model-asked", seq } as RecordedEvent]);
      live.tell(id, piece);
    },
    pagesRead,
    get waits() {
      return waits.size;
    },
    add,
    append,
    damage: (id, count) => {
      find(id).lost = count;
    },
    fail: (method, thrown) => failures.set(method, thrown),
    hold: (method) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(method, promise);
      return resolve;
    },
    status: async () => {
      await enter("status");
      return statusOf(agents.size);
    },
    agents: async () => {
      await enter("agents");
      return [...agents.values()].map(({ view }) => view);
    },
    agent: async (name) => {
      await enter("agent", name);
      return find(name).view;
    },
    create: async (agent) => {
      await enter("create", agent);
      return find(add(agent.name, 1)).view;
    },
    say: (name, words) => steer("say", name, words),
    setGoals: (name, goals, checks) => steer("setGoals", name, goals, ...(checks ? [checks] : [])),
    editPlan: async (name, edits) => ({ ...(await steer("editPlan", name, edits)), changes: [] }),
    beginTurn: (name, turn) => steer("beginTurn", name, turn),
    changeSettings: (name, settings) => steer("changeSettings", name, settings),
    pause: (name, reason) => steer("pause", name, reason),
    resume: (name, settings) => steer("resume", name, settings),
    stop: (name, graceMs) => steer("stop", name, graceMs),
    kill: (name) => steer("kill", name),
    answer: (name, answer) => steer("answer", name, answer),
    trust: async (name, what) => ({ ...(await steer("trust", name, what)), trusted: [], received: [] }),
    remove: async (name, how) => {
      await enter("remove", name, how);
      const { id, workspace } = find(name).view;
      agents.delete(id);
      for (const look of [...waits]) look();
      return { id, workspace };
    },
    fork: async (name, how) => {
      await enter("fork", name, how);
      const { log } = find(name);
      const id = add(how.name ?? find(name).view.name, log.length);
      return { ...find(id).view, events: log.length, files: 0 };
    },
    restore: async (name, request) => {
      await enter("restore", name, request);
      find(name);
      return sampleOf(RestorePlan);
    },
    changeMemory: async (name, changes, key) => {
      await enter("changeMemory", name, changes, key);
      const namespace = name === "shared" ? name : find(name).view.id;
      return changes.map((change, place) => ({
        id: change.op === "add" ? `${namespace}/+${place + 1}` : change.id,
        isNew: true,
      }));
    },
    page: async (name, after, limit) => {
      await enter("page", name, after, limit);
      const { log, lost } = find(name);
      return { events: log.slice(after, Math.min(after + limit, log.length - lost)), head: log.length };
    },
    whenLonger: async (name, after, signal) => {
      await enter("whenLonger", name, after);
      const { log } = find(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (log.length > after || signal.aborted || agents.get(name)?.log !== log) resolve();
      };
      waits.add(look);
      signal.addEventListener("abort", look);
      look();
      await promise;
      waits.delete(look);
      signal.removeEventListener("abort", look);
    },
    reload: async () => {
      await enter("reload");
      return ["models.smart is another one"];
    },
    shutdown: (graceMs) => enter("shutdown", graceMs),
  };
}

const eventOf = (seq: number, text: string): RecordedEvent => ({
  v: 1,
  seq,
  at: new Date(Date.UTC(2026, 0, 1) + seq).toISOString(),
  frame: 0,
  type: "message-received",
  from: "you",
  text,
});

const viewOf = (id: string, name: string): AgentView => ({
  id,
  name,
  parent: null,
  state: "waiting: person",
  reason: null,
  step: 3,
  turn: 1,
  tokens: 1_200,
  costUsd: 0.01,
  background: true,
  stalledMs: null,
  until: null,
  lastCommand: "write_to_file",
  received: [{ from: "web", name: "evil.example", step: 2, at: "2026-01-01T00:00:00.500Z" }],
  createdAt: "2026-01-01T00:00:00.000Z",
  changedAt: "2026-01-01T00:00:01.000Z",
  workspace: `/home/you/goald/workspace/${id}`,
});

const statusOf = (waiting: number): DaemonStatus => ({
  pid: 4_711,
  version: "0.1.0",
  protocol: PROTOCOL_VERSION,
  startedAt: "2026-01-01T00:00:00.000Z",
  home: "/home/you/goald",
  stopping: false,
  agents: { running: 0, waiting, paused: 0, finished: 0, stalled: 0 },
  eventLoopDelayMs: { p50: 1, p99: 2.5, max: 9 },
  rssBytes: 80_000_000,
  modelServers: [{ origin: "http://127.0.0.1:11434", limit: 4, active: 0, queued: 0, closedUntil: null }],
  cage: { level: "degraded", reason: "bubblewrap is not installed.", advice: "Install bubblewrap." },
  sandbox: { ready: true, level: "degraded", reason: "bubblewrap is not installed." },
  followers: 0,
  problems: [],
  connections: [],
});
