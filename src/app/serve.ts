/**
 * main-serve.ts -- the composition of what every host that takes calls has: supervisor, control, local API.
 *
 * A page of the root for main-daemon.ts and main-foreground.ts. Whoever composes it holds the home's lock.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type DaemonStatus, PROTOCOL_VERSION } from "#api/control.ts";
import { type LocalServer, type LocalServerOptions, startServer } from "#api/server.ts";
import { validateAgent } from "#config/agent-spec.ts";
import type { Home } from "#config/home.ts";
import { makeFolders } from "#config/make-folders.ts";
import { GoaldError, toError } from "#core/errors.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentRow } from "#core/ports/agent.ts";
import type { AgentState } from "#core/state.ts";
import type { OpenedAgent } from "#host/agent-runner.ts";
import { type Attended, withAttended } from "#host/attended.ts";
import { createHostControl, type HostControlParts } from "#host/host-control.ts";
import { createLiveText, type LiveTextWriter } from "#host/live-text.ts";
import { createStepLog } from "#host/log-step.ts";
import { createLoopMeter } from "#host/loop-meter.ts";
import { createProblems, type Problems } from "#host/problems.ts";
import { createSupervisor, type Supervisor } from "#host/supervisor.ts";
import { removeIndexes } from "#memory/vectors/index-folders.ts";
import { priceOf } from "#model/prices.ts";
import { systemClock } from "#util/clock.ts";
import { stallLimitMs } from "#views/agent-view.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";
import { readVersion } from "../shipped.ts";
import { type ComposeOptions, composeAgent, type Host } from "./main.ts";
import { indexRoot } from "./memory.ts";
import { createHostReading } from "./reading.ts";

/** What keeps secrets out of what is shown, and out of what is kept. */
export type Redactors = Pick<ComposeOptions, "redact" | "scrub">;

export interface ServeParts extends Pick<HostControlParts, "reload" | "shutdown">, Redactors {
  readonly host: Host;
  /** Where calls are taken; or why they are not. */
  readonly socket: string | Error;
  /** One of the supervisor's agents asks a person for a yes, or for an answer. */
  onQuestion?(agent: string, state: AgentState): void;
  /** Told why no calls are taken; without it that is thrown. */
  onUnserved?(reason: Error): void;
  readonly role: DaemonStatus["role"];
  /** An agent that this process runs itself, beside those of the supervisor. */
  readonly attended?: Attended;
  /** In which whoever runs that one tells of its replies. */
  readonly live?: LiveTextWriter;
  /** Told before one of the supervisor's agents is opened. */
  onOpen?(agent: string): void;
  readonly limits?: LocalServerOptions["limits"];
}

export interface Serving {
  readonly supervisor: Supervisor;
  /** From here on `status` says that it goes down. */
  setStopping(): void;
  /** Takes no more calls; those under way and the readers of events come to their end. */
  close(reason: string): Promise<void>;
}

/** Takes calls when it resolves. Rejects with GOALD_DAEMON when it cannot listen, unless `onUnserved` is told. */
export async function serveHost(parts: ServeParts): Promise<Serving> {
  const { host, socket, attended } = parts;
  const { home, store } = host;
  const problems = createProblems({ log: host.log, redact: parts.redact });
  const meter = createLoopMeter(() => performance.now());
  let isStopping = false;
  let server: LocalServer | undefined;
  const live = parts.live ?? createLiveText();
  const others = superviseOthers(parts, problems, meter, live, (agent) => supervisor.tell(agent));
  const supervisor: Supervisor = attended ? withAttended(others, attended, store) : others;
  const status = createStatus(parts, problems, meter);
  const control = createHostControl({
    store,
    supervisor,
    clock: systemClock,
    live,
    workspaceFolder: home.workspaceFolder,
    stallAfterMs: () => stallLimitMs(host.settings.modelTimeoutMs),
    checkAgent: validateAgent,
    status: (agents) => ({ ...status(agents), stopping: isStopping, followers: server?.followers ?? 0 }),
    reload: parts.reload,
    shutdown: parts.shutdown,
    openWorkspace: async (row) => {
      const folder = join(home.workspaceFolder, row.folder);
      await makeFolders(folder, 0o777);
      return openLocalWorkspace(folder, undefined, { own: true });
    },
    removeFolder: (row) => removeFolder(home, row),
    removeIndexes: (agent) => removeIndexes(indexRoot(home), agent),
  });
  try {
    if (typeof socket !== "string") throw socket;
    server = await startServer({
      control,
      reading: createHostReading({
        host,
        views: control,
        isRunning: (agent) => supervisor.lives.has(agent),
        report: (problem) => problems.tell("", problem),
      }),
      socket,
      redact: (text) => parts.redact(text),
      onProblem: (problem) => problems.tell("", problem),
      ...(parts.limits ? { limits: parts.limits } : {}),
    });
  } catch (thrown) {
    if (!parts.onUnserved) throw thrown;
    parts.onUnserved(toError(thrown));
  }
  return {
    supervisor,
    setStopping: () => {
      isStopping = true;
    },
    close: async (reason) => server?.close(reason),
  };
}

/** `tell`: reaches all agents of the host, the attended one too. */
function superviseOthers(
  parts: ServeParts,
  problems: Problems,
  meter: ReturnType<typeof createLoopMeter>,
  live: LiveTextWriter,
  tellAgent: (agent: string) => void,
): Supervisor {
  const { host } = parts;
  const { store, log } = host;
  const { tell } = problems;
  const stepLogs = new Map<string, ReturnType<typeof createStepLog>>();
  const supervisor: Supervisor = createSupervisor({
    store,
    clock: systemClock,
    open: async (id, signal) => {
      parts.onOpen?.(id);
      return openAgent(parts, id, {
        signal,
        report: (problem) => tell("", problem),
        onText: (piece) => live.tell(id, piece),
      });
    },
    onCommitted: (id, events, state) => {
      meter.setBusy(true);
      live.committed(id, events);
      const logStep = stepLogs.get(id) ?? createStepLog(log, id);
      stepLogs.set(id, logStep);
      for (const event of events) logStep(event);
      if (events.some(isQuestion)) parts.onQuestion?.(id, state);
    },
    onSent: (agents) => agents.forEach(tellAgent),
    onStopped: async (id) => problems.forget(id),
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
  return supervisor;
}

const isQuestion = (event: RecordedEvent): boolean =>
  event.type === "approval-asked" || (event.type === "command-waiting" && event.waitFor === "person");

async function openAgent(
  { host, redact, scrub }: ServeParts,
  id: string,
  options: Pick<ComposeOptions, "signal" | "report" | "onText">,
): Promise<OpenedAgent> {
  const row = await host.store.agent(id);
  if (!row) throw new GoaldError("GOALD_NOT_FOUND", `The agent ${id} was removed.`);
  return composeAgent(host, row, { onCommitted: () => undefined, redact, scrub, ...options });
}

function createStatus(
  { host, role }: ServeParts,
  problems: Problems,
  meter: ReturnType<typeof createLoopMeter>,
): (agents: DaemonStatus["agents"]) => Omit<DaemonStatus, "stopping" | "followers"> {
  const startedAt = systemClock.now().toISOString();
  return (agents) => {
    const { gate, embeddings } = host.shared((problem) => problems.tell("", problem));
    const { daemon, openai, models } = host.settings;
    const taken = embeddings.read();
    const price = priceOf(models.embedding, openai.baseUrl, host.catalogue.prices);
    return {
      pid: process.pid,
      version: readVersion(),
      protocol: PROTOCOL_VERSION,
      role,
      startedAt,
      home: host.home.root,
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
      embeddings: {
        model: models.embedding,
        ...taken,
        usd: price ? (taken.tokens * price.input) / 1_000_000 : null,
      },
      problems: problems.all,
    };
  };
}

/** The folder's name comes from the store, and leads nowhere but below `workspace/`. */
const removeFolder = ({ workspaceFolder }: Home, { folder }: AgentRow): Promise<void> =>
  rm(join(workspaceFolder, folder), { recursive: true, force: true });
