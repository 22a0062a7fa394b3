/**
 * main.ts -- the composition root: the one file that knows every part (main-catalogue.ts, main-services.ts, main-shared.ts, main-memory.ts, main-daemon.ts, main-family.ts, main-foreground.ts and main-serve.ts are more pages of it).
 *
 * `openHost` takes the home's lock and its store; `composeAgent` puts one agent's parts
 * together for the main loop. Nothing here decides anything.
 */
import { join } from "node:path";
import type { Tape } from "#cassette/tape.ts";
import type { Registry, ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { makeFolders } from "#config/make-folders.ts";
import { openHome } from "#config/open-home.ts";
import type { Settings } from "#config/settings.ts";
import type { Rules } from "#core/decide.ts";
import { toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow, Lease } from "#core/ports/agent.ts";
import type { Store } from "#core/ports/store.ts";
import type { AgentState } from "#core/state.ts";
import type { ForegroundParts } from "#host/foreground.ts";
import { writeReport } from "#host/write-report.ts";
import type { Http } from "#http/http.ts";
import { createPrepare } from "#loop/perform.ts";
import { rememberStep } from "#memory/recall/remember.ts";
import { removeStrayIndexes } from "#memory/vectors/index-folders.ts";
import { priceOf } from "#model/prices.ts";
import { openGroupStore } from "#store/group-store.ts";
import { type HostLock, holdHostLock } from "#store/host-lock.ts";
import { systemClock } from "#util/clock.ts";
import type { Log } from "#util/log.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { readVersion } from "../shipped.ts";
import { type Catalogue, loadCatalogue, roomOf } from "./catalogue.ts";
import { subagentPartsOf } from "./family.ts";
import { indexRoot } from "./memory.ts";
import { servicePriceOf, serviceStates } from "./services.ts";
import { openShared, type Shared } from "./shared.ts";

/** Who runs the agents of a home: the holder of its lock, with its store open for writing. */
export interface Host extends AsyncDisposable {
  readonly home: Home;
  readonly store: Store;
  readonly log: Log;
  /** As read last: agents take them with their next life. */
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  /** What its commands find set up. */
  readonly services: ServiceStates;
  readonly throughHttp: (http: Http) => Http;
  /** What all agents of the host use together, made when the first one asks. */
  shared(report: (problem: string) => void): Shared;
  /** Reads commands and words again, and takes these settings. Throws as `openHost` does, and changes nothing then. */
  reload(settings: Settings): Promise<void>;
}

export interface HostOptions {
  readonly role: "daemon" | "foreground";
  /** Where the local API is served, if it is. */
  readonly socket?: string;
  /** Set up for this run, whatever the settings say. */
  readonly services?: ServiceStates;
  /** What HTTP leaves by, made of the ordinary way out. */
  readonly throughHttp?: (http: Http) => Http;
}

/**
 * Throws GOALD_ALREADY_RUNNING when another process is the host, GOALD_HOME_UNWRITABLE when the home cannot be written,
 * GOALD_COMMAND_INVALID and GOALD_TEMPLATE for commands and words of the home that cannot be used.
 */
export async function openHost(
  home: Home,
  settings: Settings,
  log: Log,
  options: HostOptions = { role: "foreground" },
): Promise<Host> {
  await openHome(home, process.getuid?.());
  const services = options.services ?? serviceStates(settings);
  const catalogue = await loadCatalogue(home, services);
  const startedAt = systemClock.now().toISOString();
  const { role, socket, throughHttp = (http) => http } = options;
  const shown = { pid: process.pid, version: readVersion(), startedAt, role, ...(socket ? { socket } : {}) };
  const lock: HostLock = holdHostLock(home.lock, shown);
  try {
    const store = await openGroupStore(home.database);
    return hostOf(home, settings, log, { catalogue, services, throughHttp }, store, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function hostOf(
  home: Home,
  firstSettings: Settings,
  log: Log,
  first: Pick<Host, "catalogue" | "services" | "throughHttp">,
  store: Store,
  lock: HostLock,
): Host {
  let [settings, { catalogue, services }] = [firstSettings, first];
  let shared: Shared | undefined;
  let sweep: Promise<void> | undefined;
  return {
    home,
    store,
    log,
    throughHttp: first.throughHttp,
    get settings() {
      return settings;
    },
    get catalogue() {
      return catalogue;
    },
    get services() {
      return services;
    },
    shared: (report) => {
      shared ??= openShared(home, settings, catalogue, store, report, { throughHttp: first.throughHttp });
      sweep ??= removeStray(home, store).catch((thrown) => log.warn(toError(thrown).message));
      return shared;
    },
    reload: async (newSettings) => {
      const states = serviceStates(newSettings);
      catalogue = await loadCatalogue(home, states);
      [settings, services] = [newSettings, states];
      await shared?.memory.flush();
      shared = undefined;
    },
    [Symbol.asyncDispose]: async () => {
      await sweep;
      await shared?.memory.close().catch((thrown) => log.warn(toError(thrown).message));
      await store.close();
      lock.release();
    },
  };
}

/** Index files of agents that are not there any more: a crash came between forgetting them and removing those. */
async function removeStray(home: Home, store: Store): Promise<void> {
  await removeStrayIndexes(indexRoot(home), [SHARED_MEMORY, ...(await store.agents()).map(({ id }) => id)]);
}

/** An agent's parts for the main loop, and what must be closed after it. */
export interface ComposedAgent extends AsyncDisposable {
  readonly lease: Lease;
  readonly parts: Omit<ForegroundParts, "ask" | "interrupt">;
  /** Absolute path of its folder. */
  readonly folder: string;
}

export interface ComposeOptions {
  onCommitted(events: readonly RecordedEvent[], state: AgentState): void;
  /** Told the pieces of a reply as they arrive: for eyes only. */
  onText?(piece: string): void;
  /** Takes the secrets of the settings out of a text that is kept. */
  scrub(text: string): string;
  /** The same, and whatever looks like a secret, for a text that is shown. */
  redact(text: string): string;
  /** Told in words when something works less well than it should. */
  report(problem: string): void;
  /** Aborted when the host goes down at once. */
  readonly signal: AbortSignal;
  /** When its run is recorded, or played. */
  readonly tape?: Tape;
}

export async function composeAgent(host: Host, row: AgentRow, options: ComposeOptions): Promise<ComposedAgent> {
  const { home, settings, store } = host;
  const { registry, commandList, words, readReply, prices, windows } = host.catalogue;
  const { report: tell, tape } = options;
  const { model, memory, services } = tape
    ? openShared(home, settings, host.catalogue, store, tell, { tape, throughHttp: host.throughHttp })
    : host.shared(tell);
  const known: Tape["value"] = tape?.value ?? ((_name, compute) => compute());
  const room = (name: string) => known(`room of ${name}`, () => roomOf(name, settings, windows));
  const folder = join(home.workspaceFolder, row.folder);
  // It is told to people from the start, so it is there from the start.
  await makeFolders(folder, 0o777);
  const lease = await store.claim(row.id);
  const lastVersion = (path: string) => store.lastFileVersion(row.id, path);
  const prepare = createPrepare({
    agentId: row.id,
    folder,
    model,
    modelName: settings.models.smart,
    fastModel: settings.models.fast,
    fallbackModel: settings.models.fallback,
    memory,
    recallCount: settings.recall.count,
    others: row.parent !== null && settings.agents.parentMemory ? [SHARED_MEMORY, row.parent] : [SHARED_MEMORY],
    registry,
    commandList,
    words,
    ...room(settings.models.smart),
    roomOf: room,
    priceOf: (name) =>
      known(`price of ${name}`, () => priceOf(name, settings.openai.baseUrl, prices) ?? null) ?? undefined,
    servicePriceOf: (name) => known(`price of the service ${name}`, () => servicePriceOf(name, settings, prices)),
    random: () => known("chance", Math.random),
    readReply,
    openWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, { lastVersion }),
    openOwnWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, { own: true, lastVersion }),
    services,
    subagents: subagentPartsOf(host, row, tape !== undefined),
    knowsAgent: async (id) => (await store.agent(id)) !== undefined,
    clock: tape?.clock ?? systemClock,
    signal: options.signal,
    ...(options.onText ? { onText: (piece) => options.onText?.(piece) } : {}),
  });
  return {
    lease,
    folder,
    parts: {
      store,
      clock: systemClock,
      prepare,
      rules: rulesOf(registry, settings, lease),
      remoteRecall: () => memory.remote,
      remember: (before, event) => rememberStep(before, event, row.id),
      scrub: options.scrub,
      onCommitted: options.onCommitted,
      ...(tape ? { through: tape.through } : {}),
    },
    [Symbol.asyncDispose]: async () => {
      await memory.flush();
      await report(host, row, folder, options.redact).catch((thrown) =>
        options.report(`No report: ${toError(thrown).message}`),
      );
    },
  };
}

/** What a person finds in the agent's folder when nothing of it is under way any more. */
async function report({ store }: Host, row: AgentRow, folder: string, redact: (text: string) => string): Promise<void> {
  const workspace = openLocalWorkspace(folder, undefined, { own: true });
  const current = await store.agent(row.id);
  if (current) await writeReport(current, { store, hosted: false, workspace, redact });
}

function rulesOf(registry: Registry, settings: Settings, { epoch }: Lease): Rules {
  const { maxBadReplies, maxModelFailures } = settings.limits;
  return { epoch, maxBadReplies, maxModelFailures, facts: (name) => registry.get(name) };
}
