/**
 * main-daemon.ts -- the composition of a host that serves: store, supervisor, control, local API.
 *
 * The second root beside main.ts. `openDaemon` takes the home's lock and is ready when it resolves;
 * nothing here decides anything.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { validateAgent } from "#config/agent-spec.ts";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { socketPathOf } from "#config/socket-path.ts";
import { GoaldError, toError } from "#core/errors.ts";
import type { AgentRow } from "#core/ports.ts";
import { type DaemonStatus, PROTOCOL_VERSION } from "#daemon/control.ts";
import { createHostControl } from "#daemon/host-control.ts";
import type { OpenedAgent } from "#daemon/life.ts";
import { createStepLog } from "#daemon/log-step.ts";
import { createLoopMeter } from "#daemon/loop-meter.ts";
import { createSupervisor, type Supervisor } from "#daemon/supervise.ts";
import { type LocalServer, startServer } from "#server/server.ts";
import { systemClock } from "#util/clock.ts";
import type { Log } from "#util/log.ts";
import { stallLimitMs } from "#views/agent-view.ts";
import { type ComposeOptions, composeAgent, type Host, openHost } from "./main.ts";
import { readVersion } from "./shipped.ts";

/** Settings with what keeps their secrets out of what is shown and kept. */
export interface LoadedSettings {
  readonly settings: Settings;
  redact(text: string): string;
  scrub(text: string): string;
}

export interface DaemonParts extends LoadedSettings {
  readonly home: Home;
  readonly log: Log;
  /** Reads the settings again. */
  load(): Promise<LoadedSettings>;
}

export interface Daemon {
  readonly socket: string;
  /** Agents go on from here; the local API answers already. */
  start(): Promise<void>;
  /** Resolves when somebody has asked over the local API that it goes down. */
  readonly asked: Promise<{ readonly graceMs: number }>;
  reload(): Promise<readonly string[]>;
  /** Finishes steps, closes streams, gives the lock back. What is not done after `graceMs` is cut off. */
  close(graceMs: number): Promise<void>;
  /** Cuts off what is under way now. */
  hurry(): void;
}

/** Throws as `openHost` does. */
export async function openDaemon(parts: DaemonParts): Promise<Daemon> {
  const { home, log } = parts;
  const socket = await socketPathOf(home, process.getuid?.());
  const host = await openHost(home, parts.settings, log, { role: "daemon", socket });
  try {
    return await serve(host, socket, parts);
  } catch (thrown) {
    await host[Symbol.asyncDispose]();
    throw thrown;
  }
}

async function serve(host: Host, socket: string, parts: DaemonParts): Promise<Daemon> {
  const { home, store, log } = host;
  const startedAt = systemClock.now().toISOString();
  const problems = new Map<string, string>();
  const meter = createLoopMeter(() => performance.now());
  const asked = Promise.withResolvers<{ graceMs: number }>();
  let nets: LoadedSettings = parts;
  let isStopping = false;
  let server: LocalServer | undefined;

  function tell(agent: string, problem: string): void {
    const text = nets.redact(problem);
    problems.set(agent, agent ? `${agent}: ${text}` : text);
    log.warn(agent ? { agent } : {}, text);
  }

  const stepLogs = new Map<string, ReturnType<typeof createStepLog>>();
  const supervisor: Supervisor = createSupervisor({
    store,
    clock: systemClock,
    open: (id, signal) =>
      openAgent(host, id, { signal, tell, scrub: (text) => nets.scrub(text), redact: (text) => nets.redact(text) }),
    onCommitted: (id, events) => {
      meter.setBusy(true);
      const logStep = stepLogs.get(id) ?? createStepLog(log, id);
      stepLogs.set(id, logStep);
      for (const event of events) logStep(event);
    },
    onStopped: async (id) => void problems.delete(id),
    report: tell,
    onIdle: (id) => {
      stepLogs.delete(id);
      host
        .shared((problem) => tell("", problem))
        .memory.release(id)
        .catch((thrown) => tell(id, toError(thrown).message));
      if (supervisor.lives.size === 0) meter.setBusy(false);
    },
  });

  function status(agents: DaemonStatus["agents"]): DaemonStatus {
    const { gate } = host.shared((problem) => tell("", problem));
    const { daemon, openai } = host.settings;
    return {
      pid: process.pid,
      version: readVersion(),
      protocol: PROTOCOL_VERSION,
      role: "daemon",
      startedAt,
      home: home.root,
      stopping: isStopping,
      agents,
      eventLoopDelayMs: meter.read(),
      rssBytes: process.memoryUsage.rss(),
      modelServers: [
        {
          origin: new URL(openai.baseUrl).origin,
          limit: daemon.concurrency,
          active: gate.active,
          queued: gate.queued,
          closedUntil: gate.closedUntil?.toISOString() ?? null,
        },
      ],
      followers: server?.followers ?? 0,
      problems: [...problems.values()],
    };
  }

  async function reload(): Promise<readonly string[]> {
    const loaded = await parts.load();
    const before = host.settings;
    await host.reload(loaded.settings);
    const earlier = nets;
    // A secret that was replaced is still one.
    nets = {
      ...loaded,
      redact: (text) => earlier.redact(loaded.redact(text)),
      scrub: (text) => earlier.scrub(loaded.scrub(text)),
    };
    log.info("Settings, commands and words were read again.");
    return changesBetween(before, loaded.settings);
  }

  const control = createHostControl({
    store,
    supervisor,
    clock: systemClock,
    workspaceFolder: home.workspaceFolder,
    stallAfterMs: () => stallLimitMs(host.settings.modelTimeoutMs),
    checkAgent: validateAgent,
    status,
    reload,
    shutdown: (graceMs) => asked.resolve({ graceMs }),
    removeFolder: (row) => removeFolder(home, row),
  });
  server = await startServer({
    control,
    socket,
    redact: (text) => nets.redact(text),
    onProblem: (problem) => tell("", problem),
  });
  const { close: closeServer } = server;

  return {
    socket,
    start: () => supervisor.start(),
    asked: asked.promise,
    reload,
    close: async (graceMs) => {
      isStopping = true;
      await supervisor.drain(graceMs);
      await closeServer("The daemon goes down.");
      await host[Symbol.asyncDispose]();
    },
    hurry: () => supervisor.abortAll("The daemon goes down at once."),
  };
}

async function openAgent(host: Host, id: string, { tell, ...options }: OpenOptions): Promise<OpenedAgent> {
  const row = await host.store.agent(id);
  if (!row) throw new GoaldError("GOALD_NOT_FOUND", `The agent ${id} was removed.`);
  return composeAgent(host, row, {
    onCommitted: () => undefined,
    report: (problem) => tell("", problem),
    ...options,
  });
}

interface OpenOptions extends Pick<ComposeOptions, "signal" | "scrub" | "redact"> {
  tell(agent: string, problem: string): void;
}

/** The folder's name comes from the store, and leads nowhere but below `workspace/`. */
const removeFolder = ({ workspaceFolder }: Home, { folder }: AgentRow): Promise<void> =>
  rm(join(workspaceFolder, folder), { recursive: true, force: true });

/** Names only: values may be secrets. */
function changesBetween(before: Settings, after: Settings): readonly string[] {
  const flat = (value: unknown, name: string): readonly (readonly [string, string])[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key))
      : [[name, JSON.stringify(value)]];
  const earlier = new Map(flat(before, ""));
  return flat(after, "").flatMap(([name, text]) => (earlier.get(name) === text ? [] : [`${name} changed.`]));
}
