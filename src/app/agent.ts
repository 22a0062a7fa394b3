/** agent.ts -- assembles one agent's parts for the main loop: model, memory, commands, folder and recording. */
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import type { HostEdges } from "#cassette/demo-script.ts";
import type { Recorder } from "#cassette/recorder.ts";
import type { Recordings } from "#cassette/recordings.ts";
import type { Tape } from "#cassette/tape.ts";
import type { Registry, ServiceStates } from "#commands/registry.ts";
import { type Home, makeFolders } from "#config/home.ts";
import { attempt } from "#config/open-home.ts";
import { SETTINGS, type Settings, valueAt } from "#config/settings.ts";
import { GoaldError, ifNotFound, toError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow, Lease, Store, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { findNewest } from "#core/provenance.ts";
import { isTainted } from "#core/state.ts";
import { pathInParent } from "#core/subagent.ts";
import { MEBIBYTE } from "#core/text.ts";
import type { OpenedAgent } from "#host/agent-runner.ts";
import { createMovePreparer, type PerformParts } from "#loop/ask-model.ts";
import type { Egress, EgressLog, FindWriter } from "#loop/egress.ts";
import type { CheckOutgoing, Journal, PauseReason } from "#loop/journal.ts";
import type { SubagentParts } from "#loop/loop-services.ts";
import { readScript } from "#loop/run-parts.ts";
import { isFetching } from "#loop/sent-text.ts";
import { keepText } from "#loop/turn-memory.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { priceOf } from "#model/prices.ts";
import { freeSlug } from "#store/slug.ts";
import { systemClock } from "#util/clock.ts";
import type { Redactors } from "#util/redact.ts";
import { foldLog, stateOf } from "#views/read-agent.ts";
import { createFolderQuota, type FolderQuota } from "#workspace/folder-quota.ts";
import { findNewestFiles } from "#workspace/list-files.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Catalogue, catalogueHash, recordedSettings, roomOf, servicePriceOf } from "./catalogue.ts";
import { type CellsHost, cellPartsOf } from "./sandbox.ts";
import { openShared, type Shared } from "./services.ts";

/** Settings and the functions that redact their secrets. */
export interface RedactedSettings extends Redactors {
  readonly settings: Settings;
}

/** The parts of the host that an agent uses. Settings and catalogue are read once per run. */
export interface AgentHost extends RedactedSettings, CellsHost {
  readonly home: Home;
  readonly store: Store;
  readonly catalogue: Catalogue;
  readonly services: ServiceStates;
  readonly recordings: Recordings;
  readonly player: Tape | undefined;
  /** Parts that all agents of the host share; created at the first call. */
  shared(): Shared;
  readonly edges: HostEdges | undefined;
  /** Reports degraded operation, as a sentence. */
  report(problem: string): void;
}

export interface OpenOptions {
  /** Aborted when the agent is cut off. */
  readonly signal: AbortSignal;
  /** Set when the agent is opened only to be paused. */
  readonly pause?: PauseReason | undefined;
  onText(piece: string): void;
  /** Receives the lines that the code of a cell prints. */
  onPrinted(line: string): void;
}

/** Claims the agent. Throws GOALD_NOT_FOUND when it was removed. */
export async function openAgent(of: AgentHost, id: string, options: OpenOptions): Promise<OpenedAgent> {
  const row = await of.store.agent(id);
  if (!row) throw new GoaldError("GOALD_NOT_FOUND", `The agent ${id} was removed.`);
  // A reload exchanges the settings and the catalogue of the host, and nothing of this run.
  const host = { ...of };
  const { home, store, redact } = host;
  const recorder = host.player ? undefined : host.recordings.recorderFor(row);
  const tape = host.player ?? recorder;
  const shared = tape ? openTaped(host, tape) : host.shared();
  const { folder } = await openAgentFolder(home, row);
  const lease = await store.claim(id);
  const { approvalMinutes } = host.settings.limits;
  const prepare = createMovePreparer(() => performPartsOf(host, row, { folder, shared, tape, ...options }));
  if (recorder) await beginRecording(recorder, host, { row, lease, pause: options.pause });
  return {
    lease,
    parts: {
      store,
      clock: systemClock,
      prepare,
      readScript: (file) => readScript(file, openLocalWorkspace(folder)),
      keepText: (path, text) =>
        keepText(path, text, (onChange) => openLocalWorkspace(folder, onChange, { own: true, ...accessOf(host, row) })),
      rules: {
        epoch: lease.epoch,
        ...(approvalMinutes === null ? {} : { approvalExpiresMs: approvalMinutes * 60_000 }),
        facts: host.catalogue.registry.get,
      },
      remoteRecall: () => shared.memory.remote,
      remember: (before, event, read) => rememberStep(before, event, id, read),
      // The log must contain the same redacted texts as the recording.
      scrub: tape ? redact : host.scrub,
    },
    ...(tape ? { through: (parts) => tape.through(parts) } : {}),
    // Fewer and longer runs write the files of the folder into a recording less often.
    ...(recorder ? { ended: (state) => recorder.end(state), longestWaitMs: Number.POSITIVE_INFINITY } : {}),
    heldUntil: () => (shared.gate.holds(options.signal) ? shared.gate.closedUntil : null),
    isSandboxCrowded: () => host.services.cells?.ready === true && !host.player && host.sandbox().isCrowded,
    [Symbol.asyncDispose]: async () => {
      await shared.memory.runEnded(id);
      await updateReport(host, lease).catch((thrown) => host.report(`No report: ${toError(thrown).message}`));
    },
  };
}

/** A recorded agent has its own parts, but for the host's request limits. */
const openTaped = (host: AgentHost, tape: Tape): Shared =>
  openShared({ ...host, tape, ...(tape.plays ? {} : { gate: host.shared().gate }) });

interface RunOptions extends OpenOptions {
  readonly folder: string;
  readonly shared: Shared;
  readonly tape: Tape | undefined;
}

function performPartsOf(
  host: AgentHost,
  row: AgentRow,
  { folder, shared, tape, signal, onText, onPrinted }: RunOptions,
): PerformParts {
  const { settings, store } = host;
  const { commandsFor, words } = host.catalogue;
  const { memory, methods } = shared;
  const access = accessOf(host, row);
  return {
    ...knownTo(host, tape),
    agentId: row.id,
    ...cellPartsOf(host, tape, { checkOutgoing: outgoingCheckFor(host, row, tape), onPrinted }),
    folder,
    model: shared.model(),
    modelName: settings.models.smart,
    fastModel: settings.models.fast,
    fallbackModel: settings.models.fallback,
    memory,
    methods,
    embeddingModel: settings.models.embedding,
    recallCount: settings.recall.count,
    // A recording does not contain the memories of others.
    others: tape ? [] : [SHARED_MEMORY, ...(row.parent === null ? [] : [row.parent])],
    commandsFor,
    words,
    openWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, access),
    openOwnWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, { own: true, ...access }),
    history: store,
    services: shared.services(),
    downloadLimitBytes: settings.quota.megabytes * DOWNLOADS_SHARE * MEBIBYTE,
    subagents: subagentPartsOf(host, row, tape !== undefined),
    knowsAgent: async (id) => (await store.agent(id)) !== undefined,
    lookAtFolder: async () => {
      const { newest, ...rest } = await findNewestFiles(folder);
      const scrub = tape ? host.redact : host.scrub;
      const seen = { ...rest, newest: newest.map((file) => ({ ...file, path: scrub(file.path) })) };
      return tape ? tape.value("files of the folder", () => seen) : seen;
    },
    clock: tape?.clock ?? systemClock,
    signal,
    onText,
  };
}

type KnownParts = "roomOf" | "priceOf" | "servicePriceOf" | "random";

/** External values, which a recording must contain. */
function knownTo({ settings, catalogue }: AgentHost, tape: Tape | undefined): Pick<PerformParts, KnownParts> {
  const { prices, windows } = catalogue;
  const known: Tape["value"] = (name, compute) => (tape ? tape.value(name, compute) : compute());
  return {
    roomOf: (name) => known(`room of ${name}`, () => roomOf(name, settings, windows)),
    priceOf: (name) =>
      known(`price of ${name}`, () => priceOf(name, settings.openai.baseUrl, prices) ?? null) ?? undefined,
    servicePriceOf: (name) => known(`price of the service ${name}`, () => servicePriceOf(name, settings, prices)),
    random: () => known("chance", Math.random),
  };
}

function subagentPartsOf({ settings, store, catalogue }: AgentHost, row: AgentRow, isTaped: boolean): SubagentParts {
  const { fast, smart } = settings.models;
  // An agent with a budget cannot call a model whose price is unknown.
  const isPriced = (model: string): boolean => priceOf(model, settings.openai.baseUrl, catalogue.prices) !== undefined;
  const model = isPriced(smart) && !isPriced(fast) ? null : fast;
  return {
    rules: { maxDepth: settings.agents.maxDepth, maxChildren: settings.agents.maxChildren, model },
    answerMs: ANSWER_MS,
    refusal: isTaped ? "An agent whose run is recorded cannot start others: what they do is not recorded." : null,
    freeId: async (name) => {
      const taken = new Set((await store.agents()).map(({ id }) => id));
      return freeSlug(`${row.id} ${name}`, (id) => taken.has(id));
    },
    stateOf: async (id) => ((await store.agent(id)) ? stateOf(store, { id }) : undefined),
  };
}

async function beginRecording(
  recorder: Recorder,
  host: AgentHost,
  { row, lease, pause }: { readonly row: AgentRow; readonly lease: Lease } & Pick<OpenOptions, "pause">,
): Promise<void> {
  const [created] = await host.store.read(row.id, 0, 1);
  if (created?.type !== "agent-created") throw new GoaldError("GOALD_NOT_FOUND", `The agent ${row.id} was removed.`);
  await recorder.begin({
    row,
    created,
    epoch: lease.epoch,
    settings: recordedSettings(host.settings),
    services: Object.entries(host.services).flatMap(([name, { ready }]) => (ready ? [name] : [])),
    catalogue: catalogueHash(host.catalogue),
    folder: openLocalWorkspace(folderOf(host.home, row), undefined, { own: true }),
    ...(pause ? { pause } : {}),
  });
}

/** Writes the report into the agent's folder when the agent does not run. */
async function updateReport({ home, store, redact }: AgentHost, lease: Lease): Promise<void> {
  const { writeReport } = await import("#views/report-facts.ts");
  const row = await store.agent(lease.agent);
  const parts = { store, redact, workspaceFolder: home.workspaceFolder };
  if (row) await writeReport(row, { ...parts, workspace: await openAgentFolder(home, row) });
}

/** Most sub-agents answer a question within a minute; an agent that waits longer could do other work. */
const ANSWER_MS = 60_000;

const folderOf = ({ workspaceFolder }: Home, { folder }: AgentRow): string => join(workspaceFolder, folder);

/** Creates the folder if needed, unless the home was moved away, and opens it including goald's own files. */
export async function openAgentFolder(home: Home, row: AgentRow): Promise<Workspace> {
  await attempt(home.root, home, () => access(home.privateFolder));
  await makeFolders(folderOf(home, row), 0o777);
  return openLocalWorkspace(folderOf(home, row), undefined, { own: true });
}

export const removeAgentFolder = (home: Home, row: AgentRow): Promise<void> =>
  rm(folderOf(home, row), { recursive: true, force: true });

/** A scan of the folder and a backup of it still take seconds. */
const MAX_FILES = 100_000;
/** Parts of `quota.megabytes`: a page can be read again, and a download comes from a stranger. */
const PAGES_SHARE = 0.1;
const DOWNLOADS_SHARE = 0.5;
/** A folder that is full can be rewritten twice before its earlier versions fill the store. */
const HISTORY_SHARE = 2;

/** A sub-agent's folder is within its parent's, and they share the quotas of the topmost. */
function createQuota({ home, store, settings: { quota } }: AgentHost, { folder }: AgentRow): FolderQuota {
  const [top = folder, ...inside] = folder.split("/");
  const limits = {
    bytes: quota.megabytes * MEBIBYTE,
    files: MAX_FILES,
    pageBytes: quota.megabytes * PAGES_SHARE * MEBIBYTE,
  };
  const history = { bytes: quota.megabytes * HISTORY_SHARE * MEBIBYTE, storedBytes: () => store.storedBytes(top) };
  const prefix = inside.map((name) => `${name}/`).join("");
  return createFolderQuota(join(home.workspaceFolder, top), prefix, limits, history);
}

/** The options of an agent's workspace. */
const accessOf = (host: AgentHost, row: AgentRow) => ({
  lastVersion: (path: string) => host.store.lastFileVersion(row.id, path),
  staging: join(host.home.privateFolder, "clones"),
  quota: createQuota(host, row),
});

type Reader = Pick<StoreReader, "agents" | "agent" | "load" | "read" | "blob" | "lastFileVersion">;

export interface EgressSources {
  readonly row: Pick<AgentRow, "id" | "folder">;
  readonly store: Reader;
  readonly registry: Pick<Registry, "get">;
  /** The settings that hold addresses, one a line, and the open hosts; a replay has those of its recording. */
  settings(): { readonly texts: string; readonly openHosts: readonly string[] };
  /** The files of this agent, or of one of its family. */
  openFiles(of: Pick<AgentRow, "id" | "folder">): Pick<Workspace, "list" | "read">;
}

/** An agent's own journal, or the stored log of a relative. */
type Log = Pick<Journal, "state" | "head" | "eventsAfter" | "read" | "lastFileVersion">;

/** Events in which the request of a call is looked for, before the event with its files. */
const MAX_EVENTS_BETWEEN = 400;

/** For one agent. Nothing is loaded before the first call that matters. */
export function createOutgoingCheck(sources: EgressSources): CheckOutgoing {
  const { row, store } = sources;
  const opened = new Map<string, Egress>();

  async function open(of: EgressSources["row"], log: Log): Promise<Egress> {
    const { openEgress, searchFolder } = await import("#loop/egress.ts");
    const known = opened.get(of.id);
    if (known) return known;
    const { texts, openHosts } = sources.settings();
    const egress = openEgress({
      facts: (name) => sources.registry.get(name),
      read: (text) => log.read(text),
      settingTexts: texts,
      openHosts,
      folder: searchFolder(sources.openFiles(of), findWriter(sources, of.id, log)),
      isKnownToFamily,
    });
    opened.set(of.id, egress);
    return egress;
  }

  /** True when another agent of the family may follow it: they pass addresses on to each other. */
  async function isKnownToFamily(url: URL): Promise<boolean> {
    const rows = await store.agents();
    const rootOf = (id: string): string => {
      const parent = rows.find((other) => other.id === id)?.parent;
      return parent ? rootOf(parent) : id;
    };
    for (const relative of rows.filter(({ id }) => id !== row.id && rootOf(id) === rootOf(row.id))) {
      const log = await readLog(store, relative.id).catch(ifNotFound(undefined));
      if (log && (await (await open(relative, log)).mayFollow(url, log))) return true;
    }
    return false;
  }

  return async (calls, journal) => (isTainted(journal.state) ? (await open(row, journal)).judge(calls, journal) : []);
}

/** A look at the log of another agent; what it has not committed yet is not in it. */
async function readLog(store: Reader, id: string): Promise<Log> {
  return {
    ...(await foldLog(store, { id })),
    eventsAfter: (seq, limit) => store.read(id, seq, limit),
    read: async (text) =>
      typeof text === "string" ? text : Buffer.from((await store.blob(text.blob)) ?? "").toString(),
    lastFileVersion: (path) => store.lastFileVersion(id, path),
  };
}

/** A parent may have written a file into the folder of its sub-agent, so the histories of all parents count. */
function findWriter({ store, registry }: EgressSources, agent: string, log: Log): FindWriter {
  const isFetched = async (callId: string, seq: number, of: EgressLog): Promise<boolean> => {
    const before = Math.max(0, Math.min(seq, of.head) - MAX_EVENTS_BETWEEN);
    const events = await of.eventsAfter(before, MAX_EVENTS_BETWEEN);
    const request = events.findLast((event) => event.type === "command-requested" && event.callId === callId);
    return request?.type === "command-requested" && isFetching(registry.get(request.call.name));
  };
  const find = async (id: string, path: string, of: Log): ReturnType<FindWriter> => {
    const newest = await findNewest(path, of.lastFileVersion);
    if (newest?.operation === "trust") return "person";
    if (newest?.operation === "place") return "web";
    if (newest) return (await isFetched(newest.callId, newest.seq, of)) ? "web" : "agent";
    const parent = (await store.agent(id))?.parent;
    return parent ? find(parent, pathInParent(id, path), await readLog(store, parent)) : "person";
  };
  return (path) => find(agent, path, log);
}

/** Undefined when the settings permit sending unasked. */
function outgoingCheckFor(
  { home, settings, store, catalogue }: AgentHost,
  row: EgressSources["row"],
  tape: Tape | undefined,
): CheckOutgoing | undefined {
  const { askBeforeSending, openHosts } = settings.web;
  if (!askBeforeSending) return undefined;
  const readSettings: EgressSources["settings"] = () => ({
    texts: SETTINGS.filter(({ secret }) => secret !== true)
      .map(({ name }) => String(valueAt(settings, name) ?? ""))
      .filter((text) => text.includes("://"))
      .join("\n"),
    openHosts: openHosts?.split(/[,\s]+/) ?? [],
  });
  return createOutgoingCheck({
    row,
    store,
    registry: catalogue.registry,
    settings: () => (tape ? tape.value("addresses in settings", readSettings) : readSettings()),
    openFiles: ({ folder }) => openLocalWorkspace(join(home.workspaceFolder, folder)),
  });
}
