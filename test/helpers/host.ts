/**
 * host.ts -- a host of many agents on fakes: real supervisor and control; store, files, clock and model in memory.
 *
 * The store outlives a host: `begin` opens another host on it, as after a crash or a restart.
 */
import { basename } from "node:path";
import { PROTOCOL_VERSION, type Reading } from "#api/control.ts";
import { createStoreReading } from "#api/store-reading.ts";
import { createChecks } from "#app/host.ts";
import type { ServiceStates } from "#commands/registry.ts";
import type { Command } from "#core/command.ts";
import type { RecordedEvent } from "#core/event.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, AgentSpec, FileVersion, InboxMessage, Store } from "#core/ports/store.ts";
import { type AgentState, initialState } from "#core/state.ts";
import { HostControl, type HostControlParts } from "#host/host-control.ts";
import { createLiveText } from "#host/observer.ts";
import { Supervisor } from "#host/supervisor.ts";
import { createMovePreparer } from "#loop/ask-model.ts";
import { createCommandSets } from "#loop/command-set.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { createRateLimiter } from "#model/rate-limiter.ts";
import { viewAgent } from "#views/agent-view.ts";
import { type ReportFacts, reportFacts } from "#views/report-facts.ts";
import { AT } from "./events.ts";
import { fakeClock, settle } from "./fake-clock.ts";
import {
  memoryPartsOf,
  shippedPromptParts,
  shippedRegistry,
  shippedWords,
  subagentPartsIn,
  withCommands,
} from "./loop.ts";
import { type MemoryStore, openMemoryStore } from "./memory-store.ts";
import { type Files, MemoryWorkspace } from "./memory-workspace.ts";
import { type Script, scriptedModel, textIn } from "./models.ts";

export interface WorldOptions {
  /** The agent's name is in the prompt that the script receives. */
  readonly script: Script;
  readonly commands?: readonly Command[];
  /** Services that its commands find set up; none by default. */
  readonly services?: ServiceStates;
  /** Approvals expire after this time; by default never. */
  readonly approvalExpiresMs?: number;
  /** True while the sandbox has no process left; by default never. */
  readonly isSandboxCrowded?: () => boolean;
}

export type World = Awaited<ReturnType<typeof makeWorld>>;
export type TestHost = ReturnType<World["begin"]>;

const refuseRecording = (): never => {
  throw new Error("Nothing is recorded in this world.");
};
const NO_RECORDINGS: HostControlParts["recordings"] = {
  create: refuseRecording,
  resume: refuseRecording,
  release: () => undefined,
  pathOf: () => undefined,
  forget: () => undefined,
};

export async function makeWorld(options: WorldOptions) {
  const store = openMemoryStore();
  const clock = fakeClock();
  const model = scriptedModel(options.script);
  const gate = createRateLimiter({ concurrency: 8, requestsPerMinute: null }, clock);
  /** Files of each agent, by its id. */
  const files = new Map<string, Files>();
  const registry = withCommands(await shippedRegistry(options.services), options.commands ?? []);
  const words = await shippedWords();
  const { approvalExpiresMs } = options;
  const expiry = approvalExpiresMs === undefined ? {} : { approvalExpiresMs };
  const commandsFor = createCommandSets(registry.all, { commands: {}, args: {} });

  /** Opens a host, as a process with the lock does. `store` wraps the store that the agents' loops use. */
  function begin(change: { readonly store?: (store: MemoryStore) => Store } = {}) {
    const seen = change.store?.(store) ?? store;
    /** Agents in the order in which they stopped. */
    const stopped: { agent: string; state: AgentState }[] = [];
    const problems: string[] = [];
    const idle: string[] = [];
    /** Each closed runner with the type of the agent's last event; null when the agent was removed. */
    const closed: { agent: string; lastEvent: string | null }[] = [];
    const removedFolders: string[] = [];
    const supervisor = new Supervisor({
      store,
      clock,
      open: async (id, signal) => {
        const lease = await seen.claim(id);
        const own = files.get(id) ?? new Map();
        files.set(id, own);
        const prepare = createMovePreparer(() => ({
          ...memoryPartsOf(id, store, own, clock),
          model: gate.guard(model),
          commandsFor,
          words,
          services: {},
          signal,
          subagents: subagentPartsIn(store, id),
        }));
        return {
          lease,
          parts: {
            store: seen,
            clock,
            prepare,
            remoteRecall: () => false,
            rules: { epoch: lease.epoch, facts: (name) => registry.get(name), ...expiry },
            remember: (before, event, read) => rememberStep(before, event, id, read),
            scrub: (text) => text,
          },
          heldUntil: () => (gate.holds(signal) ? gate.closedUntil : null),
          ...(options.isSandboxCrowded ? { isSandboxCrowded: options.isSandboxCrowded } : {}),
          [Symbol.asyncDispose]: async () => {
            const isThere = (await store.agent(id)) !== undefined;
            const events = isThere ? await store.read(id, 0, 10_000) : [];
            closed.push({ agent: id, lastEvent: events.at(-1)?.type ?? null });
          },
        };
      },
      onCommitted: () => undefined,
      pauseAlone: (id) => control.pauseAlone(id),
      onStopped: async (agent, state) => void stopped.push({ agent, state }),
      report: (agent, problem) => void problems.push(agent ? `${agent}: ${problem}` : problem),
      onIdle: (agent) => void idle.push(agent),
    });
    const control = new HostControl({
      store,
      supervisor,
      clock,
      live: createLiveText(),
      recordings: NO_RECORDINGS,
      redact: (text) => text,
      openWorkspace: async ({ id }) => {
        const own = files.get(id) ?? new Map();
        files.set(id, own);
        return new MemoryWorkspace({ files: own, own: true });
      },
      workspaceFolder: "/home/workspace",
      stallAfterMs: () => 120_000,
      ...createChecks(() => registry),
      openDashboard: () => Promise.reject(new Error("This world has no page.")),
      status: () => ({
        pid: process.pid,
        version: "0.0.0",
        protocol: PROTOCOL_VERSION,
        startedAt: clock.now().toISOString(),
        home: "/home",
        stopping: false,
        eventLoopDelayMs: { p50: 0, p99: 0, max: 0 },
        rssBytes: 1,
        modelServers: [],
        cage: null,
        sandbox: { ready: false, level: null, reason: "It is off." },
        followers: 0,
        page: null,
        problems: [],
        connections: [],
      }),
      reload: async () => [],
      shutdown: async () => undefined,
      removeMemory: async () => undefined,
      openFolder: (folder, onChange, options) =>
        new MemoryWorkspace({ files: files.get(basename(folder)) ?? new Map(), onChange, ...options }),
      remember: rememberStep,
      removeFolder: async ({ id, folder }) =>
        void removedFolders.push((await store.agent(id)) ? folder : `${folder}, which may be of a newer agent`),
    });
    /** Resolves when no agent runs; pending timers are ignored. */
    const quiet = async (): Promise<void> => {
      do {
        await Promise.all([...supervisor.runners.values()].map((runner) => runner.settled()));
        // An agent that was sent something is looked up before it is woken.
        await settle();
      } while ([...supervisor.runners.values()].some(({ running }) => running));
    };
    /** Lets this time pass, then does the same. */
    const quietAfter = async (ms: number): Promise<void> => {
      await clock.advance(ms);
      await quiet();
    };
    return { supervisor, control, stopped, problems, idle, closed, removedFolders, quiet, quietAfter };
  }
  const events = (agent: string) => store.read(agent, 0, 10_000);

  return {
    store,
    clock,
    model,
    files,
    begin,
    create: (name: string, settings: Partial<AgentSpec> = {}) =>
      store.create(
        { name, role: "a tester", goals: ["Count"], approve: "never", stepLimit: 100, background: true, ...settings },
        `test/${name}`,
        clock.now().toISOString(),
      ),
    events,
    /** The types of an agent's events. */
    types: async (agent = "foo"): Promise<readonly string[]> => (await events(agent)).map(({ type }) => type),
    /** Puts a message into an agent's inbox now. */
    deliver: (agent: string, key: string, message: InboxMessage) =>
      store.deliver(agent, key, message, clock.now().toISOString()),
    /** The messages of the newest request to the model. */
    lastPrompt: () => textIn(model.requests.at(-1) ?? { messages: [] }),
    /** A file of an agent; empty without one. */
    textOf: (agent: string, path: string) => Buffer.from(files.get(agent)?.get(path) ?? "").toString(),
    /** Opens and starts the next host, and waits until its agents rest. */
    next: async () => {
      const host = begin();
      await host.supervisor.start();
      await host.quiet();
      return host;
    },
  };
}

/** Opens a world with these agents, and a host that has started them. */
export async function startHost(
  options: WorldOptions,
  agents: Readonly<Record<string, Partial<AgentSpec>>> = { Foo: {} },
  change: Parameters<World["begin"]>[0] = {},
) {
  const world = await makeWorld(options);
  for (const [name, settings] of Object.entries(agents)) await world.create(name, settings);
  const host = world.begin(change);
  await host.supervisor.start();
  return { world, host, control: host.control };
}

/** Does the same, and waits until all agents rest. */
export async function restedHost(...given: Parameters<typeof startHost>) {
  const started = await startHost(...given);
  await started.host.quiet();
  return started;
}

// `Reading` over a world in memory.

const FOLDER = "/home/workspace";

export async function readingOf({ store, clock, files }: World, { control }: TestHost): Promise<Reading> {
  const parts = await shippedPromptParts();
  return createStoreReading({
    reader: store,
    clock,
    workspaceFolder: FOLDER,
    viewAgents: control.viewAll,
    openWorkspace: (folder) => new MemoryWorkspace({ files: files.get(folder.slice(FOLDER.length + 1)) ?? new Map() }),
    promptParts: async () => parts,
    readThoughts: async (...reply) => parts.commandsFor(initialState).readThoughts(...reply),
    recall: async (namespace, query, count) => {
      const rows = await store.memories(namespace, 0, 1_000);
      return rows
        .filter(({ text }) => text.includes(query))
        .slice(0, count ?? 10)
        .map(({ id, step, at, kind, trust, text }) => ({ id, step, at, kind, trust, text, score: 1 }));
    },
  });
}

// The facts of a report about a log that a test made.

/** All events, as of a short log. */
export function factsOf(events: readonly RecordedEvent[], versions: readonly FileVersion[] = []): ReportFacts {
  const state = replay(events);
  const row = { id: "foo", name: "Foo", folder: "foo", parent: null, createdAt: AT, updatedAt: AT } as AgentRow;
  const facts = { workspaceFolder: "/w", hosted: false, stallAfterMs: () => 0, now: new Date(AT) };
  return reportFacts(viewAgent(row, state, facts), state, { since: 0, events, versions });
}
