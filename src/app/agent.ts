/** agent.ts -- assembles one agent's parts for the main loop: model, memory, commands, folder and recording. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { HostEdges } from "#cassette/demo-script.ts";
import type { Recorder } from "#cassette/recorder.ts";
import type { Recordings } from "#cassette/recordings.ts";
import type { Tape } from "#cassette/tape.ts";
import type { Registry, ServiceStates } from "#commands/registry.ts";
import { type Home, makeFolders } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import { MAX_BAD_REPLIES, MAX_TRIES, type Rules } from "#core/decide.ts";
import { GoaldError, toError } from "#core/errors.ts";
import { SHARED_MEMORY } from "#core/memory.ts";
import type { AgentRow, Lease, Store } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import type { OpenedAgent, PauseReason } from "#host/agent-runner.ts";
import { createPrepare, type PerformParts, type Prepare } from "#loop/ask-model.ts";
import { readScript } from "#loop/complete-events.ts";
import type { SubagentParts } from "#loop/loop-services.ts";
import { keepText } from "#loop/turn-memory.ts";
import { rememberStep } from "#memory/remember/remember.ts";
import { priceOf } from "#model/prices.ts";
import { freeSlug } from "#store/slug.ts";
import { systemClock } from "#util/clock.ts";
import { stateOf } from "#views/read-agent.ts";
import { findNewestFiles } from "#workspace/list-files.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { type Catalogue, catalogueHash, recordedSettings, roomOf, servicePriceOf } from "./catalogue.ts";
import { describeLeavingFor } from "./egress.ts";
import { accessOf, downloadLimitOf } from "./quota.ts";
import { type CellsHost, cellPartsOf } from "./sandbox.ts";
import { openShared, type Shared } from "./services.ts";

/** Settings and the functions that redact their secrets. */
export interface LoadedSettings {
  readonly settings: Settings;
  /** For stored text: redacts the secrets of the settings. */
  scrub(text: string): string;
  /** For displayed text: redacts the same secrets and everything that looks like one. */
  redact(text: string): string;
}

/** The parts of the host that an agent uses. Settings and catalogue are read once per run. */
export interface AgentHost extends LoadedSettings, CellsHost {
  readonly home: Home;
  readonly store: Store;
  readonly catalogue: Catalogue;
  /** The services that commands find ready. */
  readonly services: ServiceStates;
  readonly recordings: Recordings;
  /** Replays an agent instead of running it. */
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
  /** Receives the pieces of a reply. */
  onText(piece: string): void;
}

/** Claims the agent. Throws GOALD_NOT_FOUND when it was removed. */
export async function openAgent(host: AgentHost, id: string, options: OpenOptions): Promise<OpenedAgent> {
  const { home, store, redact } = host;
  const row = await store.agent(id);
  if (!row) throw new GoaldError("GOALD_NOT_FOUND", `The agent ${id} was removed.`);
  const recorder = host.player ? undefined : host.recordings.recorderFor(row);
  const tape = host.player ?? recorder;
  const shared = tape ? openTaped(host, tape) : host.shared();
  const folder = folderOf(home, row);
  await makeFolders(folder, 0o777);
  const lease = await store.claim(id);
  const prepare = prepareOf(host, row, { folder, shared, tape, ...options });
  if (recorder) await beginRecording(recorder, host, { row, lease, folder, pause: options.pause });
  return {
    lease,
    parts: {
      store,
      clock: systemClock,
      prepare,
      readScript: (file) => readScript(file, openLocalWorkspace(folder)),
      keepText: (path, text) =>
        keepText(path, text, (onChange) => openLocalWorkspace(folder, onChange, { own: true, ...accessOf(host, row) })),
      rules: rulesOf(host.catalogue.registry, host.settings, lease),
      remoteRecall: () => shared.memory.remote,
      remember: (before, event, read) => rememberStep(before, event, id, read),
      // The log must contain the same redacted texts as the recording.
      scrub: tape ? redact : host.scrub,
    },
    ...(tape ? { through: (parts) => tape.through(parts) } : {}),
    ...(recorder ? { ended: (state) => recorder.end(state) } : {}),
    // Fewer and longer runs write the files of the folder into a recording less often.
    ...(recorder ? { longestWaitMs: () => Number.POSITIVE_INFINITY } : {}),
    isSandboxCrowded: () => host.services.cells?.ready === true && !host.player && host.sandbox().isCrowded,
    [Symbol.asyncDispose]: async () => {
      await shared.memory.flush();
      await updateReport(host, lease, folder).catch((thrown) => host.report(`No report: ${toError(thrown).message}`));
    },
  };
}

/** A recorded agent has its own parts, but for the host's request limits. */
const openTaped = (host: AgentHost, tape: Tape): Shared =>
  openShared({ ...host, tape, ...(tape.plays ? {} : { gate: host.shared().gate }) });

interface PrepareParts extends OpenOptions {
  readonly folder: string;
  readonly shared: Shared;
  readonly tape: Tape | undefined;
}

function prepareOf(host: AgentHost, row: AgentRow, { folder, shared, tape, signal, onText }: PrepareParts): Prepare {
  const { settings, store } = host;
  const { commandsFor, words } = host.catalogue;
  const { model, memory, methods, services } = shared;
  const access = accessOf(host, row);
  return createPrepare({
    ...knownTo(host, tape),
    agentId: row.id,
    ...cellPartsOf(host, tape, describeLeavingFor(host, row, tape)),
    folder,
    model,
    modelName: settings.models.smart,
    fastModel: settings.models.fast,
    fallbackModel: settings.models.fallback,
    memory,
    methods,
    embeddingModel: settings.models.embedding,
    recallCount: settings.recall.count,
    others: row.parent !== null ? [SHARED_MEMORY, row.parent] : [SHARED_MEMORY],
    commandsFor,
    words,
    openWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, access),
    openOwnWorkspace: (path, onChange) => openLocalWorkspace(path, onChange, { own: true, ...access }),
    history: store,
    services,
    downloadLimitBytes: downloadLimitOf(settings),
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
  });
}

type KnownParts = "contextTokens" | "replyTokens" | "roomOf" | "priceOf" | "servicePriceOf" | "random";

/** External values, which a recording must contain. */
function knownTo({ settings, catalogue }: AgentHost, tape: Tape | undefined): Pick<PerformParts, KnownParts> {
  const { prices, windows } = catalogue;
  const known: Tape["value"] = (name, compute) => (tape ? tape.value(name, compute) : compute());
  const room = (name: string) => known(`room of ${name}`, () => roomOf(name, settings, windows));
  return {
    ...room(settings.models.smart),
    roomOf: room,
    priceOf: (name) =>
      known(`price of ${name}`, () => priceOf(name, settings.openai.baseUrl, prices) ?? null) ?? undefined,
    servicePriceOf: (name) => known(`price of the service ${name}`, () => servicePriceOf(name, settings, prices)),
    random: () => known("chance", Math.random),
  };
}

/** The rules and views by which the agent can start and follow other agents. */
function subagentPartsOf({ settings, store, catalogue }: AgentHost, row: AgentRow, isTaped: boolean): SubagentParts {
  const { maxDepth, maxChildren } = settings.agents;
  const { fast, smart } = settings.models;
  // An agent with a budget cannot call a model whose price is unknown.
  const isPriced = (model: string): boolean => priceOf(model, settings.openai.baseUrl, catalogue.prices) !== undefined;
  const model = isPriced(smart) && !isPriced(fast) ? null : fast;
  return {
    rules: { maxDepth, maxChildren, model },
    answerMs: ANSWER_MS,
    refusal: isTaped ? "An agent whose run is recorded cannot start others: what they do is not recorded." : null,
    freeId: async (name) => {
      const taken = new Set((await store.agents()).map(({ id }) => id));
      return freeSlug(`${row.id} ${name}`, (id) => taken.has(id));
    },
    stateOf: async (id) => ((await store.agent(id)) ? stateOf(store, { id }) : undefined),
  };
}

interface Recorded {
  readonly row: AgentRow;
  readonly lease: Lease;
  readonly folder: string;
  readonly pause: PauseReason | undefined;
}

async function beginRecording(recorder: Recorder, host: AgentHost, of: Recorded): Promise<void> {
  const { row, lease, folder, pause } = of;
  const [created] = await host.store.read(row.id, 0, 1);
  if (created?.type !== "agent-created") throw new GoaldError("GOALD_NOT_FOUND", `The agent ${row.id} was removed.`);
  await recorder.begin({
    row,
    created,
    epoch: lease.epoch,
    settings: recordedSettings(host.settings),
    services: Object.entries(host.services).flatMap(([name, { ready }]) => (ready ? [name] : [])),
    catalogue: catalogueHash(host.catalogue),
    folder: openLocalWorkspace(folder, undefined, { own: true }),
    ...(pause ? { pause } : {}),
  });
}

/** Writes the report into the agent's folder when the agent does not run. */
async function updateReport({ home, store, redact }: AgentHost, lease: Lease, folder: string): Promise<void> {
  const { writeReport } = await import("#views/report-facts.ts");
  const row = await store.agent(lease.agent);
  const workspace = openLocalWorkspace(folder, undefined, { own: true });
  if (row) await writeReport(row, { store, workspaceFolder: home.workspaceFolder, workspace, redact });
}

function rulesOf(registry: Registry, settings: Settings, { epoch }: Lease): Rules {
  const { approvalMinutes } = settings.limits;
  const facts = (name: string) => registry.get(name);
  const expiry = approvalMinutes === null ? {} : { approvalExpiresMs: approvalMinutes * 60_000 };
  return { epoch, maxBadReplies: MAX_BAD_REPLIES, maxModelFailures: MAX_TRIES, ...expiry, facts };
}

/** Most sub-agents answer a question within a minute; an agent that waits longer could do other work. */
const ANSWER_MS = 60_000;

const folderOf = ({ workspaceFolder }: Home, { folder }: AgentRow): string => join(workspaceFolder, folder);

/** Creates the folder if needed, and opens it including goald's own files. */
export async function openAgentFolder(home: Home, row: AgentRow): Promise<Workspace> {
  await makeFolders(folderOf(home, row), 0o777);
  return openLocalWorkspace(folderOf(home, row), undefined, { own: true });
}

export const removeAgentFolder = (home: Home, row: AgentRow): Promise<void> =>
  rm(folderOf(home, row), { recursive: true, force: true });
