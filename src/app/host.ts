/** host.ts -- opens the host of a home: its lock, store, agents and local API. */
import { join } from "node:path";
import { PROTOCOL_VERSION } from "#api/control.ts";
import type { DaemonStatus } from "#api/schemas.ts";
import type { LocalServer, LocalServerOptions } from "#api/server.ts";
import { foundCage } from "#cage/find-cage.ts";
import type { HostEdges } from "#cassette/demo-script.ts";
import { Recordings } from "#cassette/recordings.ts";
import type { Tape } from "#cassette/tape.ts";
import type { Registry, ServiceStates } from "#commands/registry.ts";
import { validateAgent } from "#config/agent-spec.ts";
import { connectionsOf } from "#config/connections.ts";
import type { Home } from "#config/home.ts";
import { openHome } from "#config/open-home.ts";
import { changesBetween, type Settings } from "#config/settings.ts";
import { type AgentSettings, checkProfile, offersPlan, type ReplyForm } from "#core/agent-settings.ts";
import { isActionForm, RUN_CODE } from "#core/command.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { Sandbox } from "#core/ports/sandbox.ts";
import type { Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import { HostControl, type HostControlParts } from "#host/host-control.ts";
import { createLoopMeter, createProblems, type Problems } from "#host/host-status.ts";
import { createLiveText, createObserver, type ObserverParts } from "#host/observer.ts";
import { Supervisor, type SupervisorParts } from "#host/supervisor.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { type HostLock, holdHostLock } from "#store/sqlite/host-lock.ts";
import { openGroupStore } from "#store/sqlite/writer.ts";
import { systemClock } from "#util/clock.ts";
import type { Log } from "#util/log.ts";
import { stallLimit } from "#views/agent-view.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { readVersion } from "../shipped.ts";
import { type AgentHost, openAgent, openAgentFolder, type RedactedSettings, removeAgentFolder } from "./agent.ts";
import { type Catalogue, findServiceStates, loadCatalogue } from "./catalogue.ts";
import { indexRoot, removeMemoryOf, removeStrayIndexes } from "./memory-folders.ts";
import { describeSandbox, openSandbox, type SandboxLevel } from "./sandbox.ts";
import { openShared, type Shared } from "./services.ts";

/**
 * Throws GOALD_ALREADY_RUNNING when another process is the host, and GOALD_HOME_UNWRITABLE when the home cannot be
 * written. Throws GOALD_COMMAND_INVALID and GOALD_TEMPLATE for invalid commands and prompts of the home.
 */
export async function openHost(parts: HostParts): Promise<Host> {
  const { home, socket } = parts;
  await openHome(home, process.getuid?.());
  const services = parts.services ?? (await findServiceStates(parts.settings));
  const level: SandboxLevel = { finding: null };
  const catalogue = await loadCatalogue(home, services, parts.settings.agents.maxDepth, level);
  const startedAt = systemClock.now().toISOString();
  const info = { pid: process.pid, version: readVersion(), startedAt, ...(socket === undefined ? {} : { socket }) };
  using releasing = new DisposableStack();
  const lock = releasing.use(holdHostLock(home.lock, info));
  const store = await openGroupStore(home.database);
  const host = new Host(parts, { store, lock, catalogue, services, level, startedAt });
  releasing.move();
  return host;
}

type Opened = Pick<AgentHost, "store" | "catalogue" | "services" | "level"> & { lock: HostLock; startedAt: string };

export class Host implements AgentHost, AsyncDisposable {
  readonly home: Home;
  readonly store: Store;
  readonly player: Tape | undefined;
  readonly edges: HostEdges | undefined;
  readonly recordings: Recordings;
  readonly supervisor: Supervisor;
  readonly control: HostControl;
  settings: Settings;
  catalogue: Catalogue;
  services: ServiceStates;
  readonly level: SandboxLevel;
  /** True when the host is shutting down; `status` reports it. */
  isStopping = false;
  readonly #parts: HostParts;
  readonly #opened: Opened;
  readonly #problems: Problems;
  readonly #live = createLiveText();
  readonly #meter = createLoopMeter();
  #redactors: Pick<RedactedSettings, "redact" | "scrub">;
  #shared: Shared | undefined;
  readonly #sandbox: Sandbox;
  #sweep: Promise<void> | undefined;
  #server: LocalServer | undefined;
  /** When the last runner was discarded. */
  #usedAt = performance.now();

  constructor(parts: HostParts, opened: Opened) {
    this.home = parts.home;
    this.store = opened.store;
    this.player = parts.player;
    this.edges = parts.edges;
    this.settings = parts.settings;
    this.catalogue = opened.catalogue;
    this.services = opened.services;
    this.level = opened.level;
    this.#parts = parts;
    this.#sandbox = openSandbox(parts.home);
    this.#opened = opened;
    this.#redactors = parts;
    this.#problems = createProblems(parts.log, this.redact);
    this.recordings = new Recordings({
      folder: join(parts.home.privateFolder, "recordings"),
      clock: systemClock,
      version: readVersion(),
      redact: this.redact,
      report: this.#problems.tell,
    });
    this.supervisor = this.#createSupervisor();
    this.control = this.#createControl();
  }

  readonly redact = (text: string): string => this.#redactors.redact(text);
  readonly scrub = (text: string): string => this.#redactors.scrub(text);
  readonly note = (text: string): void => this.#parts.log.info(this.redact(text));
  readonly report = (problem: string): void => {
    this.#problems.tell("", problem);
    this.#parts.onProblem?.(problem);
  };
  readonly sandbox = (): Sandbox => this.edges?.sandbox ?? this.#sandbox;
  readonly shared = (): Shared => {
    this.#shared ??= openShared(this);
    this.#sweep ??= this.#sweepIndexes().catch((thrown) => this.#parts.log.warn(toError(thrown).message));
    return this.#shared;
  };

  async #sweepIndexes(): Promise<void> {
    const ids = (await this.store.agents()).map(({ id }) => id);
    await removeStrayIndexes(indexRoot(this.home), [SHARED_MEMORY, ...ids]);
  }

  /** Accepts requests when it resolves. Throws GOALD_DAEMON when it cannot listen. */
  async serve(limits: NonNullable<LocalServerOptions["limits"]> = {}): Promise<void> {
    const { socket } = this.#parts;
    if (socket === undefined) throw new Error("this host has no socket.");
    this.isStopping = false;
    // Loaded here, because agents run without the API.
    const [api, { createHostReading }] = await Promise.all([import("#api/server.ts"), import("./reading.ts")]);
    this.#server = await api.startServer({
      control: this.control,
      reading: createHostReading(this),
      redact: this.redact,
      scrub: this.scrub,
      socket,
      onProblem: (problem) => this.#problems.tell("", problem),
      limits,
      doorPort: this.settings.daemon.port,
    });
  }

  /** Reads settings, commands and prompts again; agents use them from their next run on. Returns the changes. */
  async reload(): Promise<readonly string[]> {
    if (!this.#parts.load) throw isPrivate("keeps the settings that it has read");
    const loaded = await this.#parts.load();
    const services = await findServiceStates(loaded.settings);
    const catalogue = await loadCatalogue(this.home, services, loaded.settings.agents.maxDepth, this.level);
    const changes = changesBetween(this.settings, loaded.settings);
    Object.assign(this, { catalogue, services, settings: loaded.settings });
    this.#redactors = loaded;
    await this.#shared?.memory.releaseUnused();
    // The parts that are opened anew report again each problem that is still there.
    this.#problems.forget("");
    // With the same settings the calls under way still count, and so does what the server has asked for.
    const gate = changes.length === 0 ? this.#shared?.gate : undefined;
    this.#shared = gate && openShared({ ...this, gate });
    this.#parts.log.info("Settings, commands and words were read again.");
    return changes;
  }

  /** How long no agent has run or waited for a time, and no client has asked or followed, in ms; 0 while one does. */
  get idleMs(): number {
    if (this.supervisor.runners.size > 0 || (this.#server?.followers ?? 0) > 0) return 0;
    return performance.now() - Math.max(this.#usedAt, this.#server?.usedAt ?? 0);
  }

  /** Refuses new requests, then waits for open requests and event streams to end. */
  async stopServing(reason: string): Promise<void> {
    this.isStopping = true;
    await this.#server?.close(reason);
  }

  /** Releases the lock. The caller must have drained the supervisor. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sweep;
    await this.#sandbox.close();
    await this.#shared?.memory.close().catch((thrown) => this.#parts.log.warn(toError(thrown).message));
    this.recordings.close();
    await this.store.close();
    this.#opened.lock.release();
  }

  #createSupervisor(): Supervisor {
    const observer = createObserver({ ...this.#parts, live: this.#live, meter: this.#meter });
    return new Supervisor({
      ...this.#parts,
      store: this.store,
      clock: systemClock,
      open: (id, signal, pause) => {
        const onText = (piece: string): void => this.#live.tell(id, piece);
        const onPrinted = (line: string): void => this.#live.print(id, line);
        return openAgent(this, id, { signal, pause, onText, onPrinted });
      },
      onCommitted: observer.committed,
      pauseAlone: (id) => this.control.pauseAlone(id),
      onStopped: async (id, state) => {
        this.#problems.forget(id);
        this.#parts.onStopped?.(id, state);
      },
      report: this.#problems.tell,
      onIdle: (id) => {
        this.#usedAt = performance.now();
        observer.idle(id, this.supervisor.runners.size === 0);
        this.#shared?.memory.idle(id).catch((thrown) => this.#problems.tell(id, toError(thrown).message));
      },
    });
  }

  #createControl(): HostControl {
    const { home, store, supervisor, recordings, redact } = this;
    return new HostControl({
      store,
      supervisor,
      recordings,
      redact,
      live: this.#live,
      clock: systemClock,
      workspaceFolder: home.workspaceFolder,
      stallAfterMs: (state) => stallLimit(this.settings.models.timeoutSeconds * 1_000, this.catalogue.registry)(state),
      ...createChecks(() => this.catalogue.registry),
      status: () => this.#describe(),
      reload: () => this.reload(),
      openDashboard: async () => {
        if (!this.#server) throw isPrivate("serves no page");
        return this.#server.openDashboard();
      },
      shutdown: async (graceMs) => {
        if (!this.#parts.onShutdown) throw isPrivate("ends when its agent does");
        this.#parts.onShutdown(graceMs);
      },
      openWorkspace: (row) => openAgentFolder(home, row),
      removeFolder: (row) => removeAgentFolder(home, row),
      removeMemory: (agent) => removeMemoryOf(home, agent, this.#shared?.memory),
      openFolder: openLocalWorkspace,
      remember: (before, event, agent) => rememberStep(before, event, agent),
    });
  }

  #describe(): DaemonStatus {
    const { active, queued, closedUntil } = this.shared().gate;
    const { daemon, openai } = this.settings;
    const calls = { limit: daemon.concurrency, active, queued, closedUntil: closedUntil?.toISOString() ?? null };
    const { startedAt } = this.#opened;
    return {
      pid: process.pid,
      version: readVersion(),
      protocol: PROTOCOL_VERSION,
      startedAt,
      home: this.home.root,
      eventLoopDelayMs: this.#meter.read(),
      rssBytes: process.memoryUsage.rss(),
      modelServers: [{ origin: new URL(openai.baseUrl).origin, ...calls }],
      problems: this.#problems.all,
      stopping: this.isStopping,
      followers: this.#server?.followers ?? 0,
      page: this.#server?.page ?? null,
      cage: foundCage(),
      sandbox: describeSandbox(this.services.cells, this.level.finding),
      connections: connectionsOf(this.settings, process.env, startedAt),
    };
  }
}

const isPrivate = (what: string): GoaldError =>
  new GoaldError("GOALD_ALREADY_RUNNING", `A demo, test or replay (pid ${process.pid}) has this home, and it ${what}.`);

export interface HostParts
  extends RedactedSettings,
    Pick<SupervisorParts, "onFailed">,
    Pick<ObserverParts, "onCommitted"> {
  readonly home: Home;
  readonly log: Log;
  /** Path of the API socket. Absent for a host that accepts no requests. */
  readonly socket?: string;
  /** Reads the settings again. The new redactors also remove earlier secrets. Absent: `reload` is refused. */
  load?(): Promise<RedactedSettings>;
  /** Called after each run of an agent. */
  onStopped?(agent: string, state: AgentState): void;
  /** Called when a client requests a shutdown. Absent: the request is refused. */
  onShutdown?(graceMs: number): void;
  /** Reports degraded operation of agents, as a sentence. */
  onProblem?(problem: string): void;
  /** Services that replace those of the settings. */
  readonly services?: ServiceStates;
  /** Replaces the parts that reach outside. */
  readonly edges?: HostEdges;
  /** Replays an agent instead of running it. */
  readonly player?: Tape;
}

type Checks = Pick<HostControlParts, "checkAgent" | "checkSettings">;

/** `registry` returns the commands of the moment. */
export const createChecks = (registry: () => Pick<Registry, "all" | "unavailable">): Checks => ({
  checkAgent: validateAgent,
  checkSettings(settings, before = {}) {
    const { commands, form } = settings;
    if (form !== undefined) checkForm(form, registry());
    const { all, unavailable } = registry();
    const known = [...all, ...unavailable.map(({ command }) => command)];
    const checked = commands === undefined ? settings : { ...settings, commands: checkProfile(commands, known) };
    checkPlan({ ...before, ...checked });
    return checked;
  },
});

/** Throws GOALD_USAGE for a plan that the agent could not make, because its profile leaves the commands out. */
function checkPlan({ form, plan, commands = null }: Partial<AgentSettings>): void {
  if ((form !== "plan" && plan !== "required") || offersPlan(commands)) return;
  const asked = form === "plan" ? "The form plan" : "--plan required";
  throw new GoaldError(
    "GOALD_USAGE",
    `${asked} needs add_task and modify_task, and --commands ${commands} leaves them out.`,
    { hint: `Add the group plan: --commands ${commands},plan` },
  );
}

/** Throws GOALD_USAGE for a form whose replies are code when code cannot run. */
function checkForm(form: ReplyForm, { all, unavailable }: Pick<Registry, "all" | "unavailable">): void {
  if (!isActionForm(form) || all.some(({ name }) => name === RUN_CODE)) return;
  const { toDo = [] } = unavailable.find(({ command }) => command.name === RUN_CODE) ?? {};
  throw new GoaldError("GOALD_USAGE", `The form ${form} runs code, and code cannot run here.`, {
    hint: [...toDo, "Or choose another form: --form json or --form tools."].join(" "),
  });
}
