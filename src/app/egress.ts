/** egress.ts -- connects an agent's log, commands, settings and files with the rule about what its calls would send out. */
import { join } from "node:path";
import type { Tape } from "#cassette/tape.ts";
import type { Registry } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import { SETTINGS, type Settings, valueAt } from "#config/settings.ts";
import { ifNotFound } from "#core/errors.ts";
import { replay } from "#core/evolve.ts";
import type { AgentRow, StoreReader } from "#core/ports/store.ts";
import type { Workspace } from "#core/ports/workspace.ts";
import { findNewest, isTainted } from "#core/provenance.ts";
import { type AgentState, initialState, STATE_VERSION } from "#core/state.ts";
import { pathInParent } from "#core/subagent.ts";
import type { Egress, EgressLog, FindWriter } from "#loop/egress.ts";
import type { DescribeLeaving, Journal } from "#loop/journal.ts";
import { isFetching } from "#loop/sent-text.ts";
import { openLocalWorkspace } from "#workspace/local-workspace.ts";

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
export function createDescribeLeaving(sources: EgressSources): DescribeLeaving {
  const { row, store } = sources;
  const opened = new Map<string, Egress>();

  async function open(of: EgressSources["row"], log: Log): Promise<Egress> {
    const [{ openEgress }, { searchFolder }] = await Promise.all([
      import("#loop/egress.ts"),
      import("#loop/egress.ts"),
    ]);
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
  const { head, snapshot, events } = await store.load(id, STATE_VERSION);
  return {
    state: replay(events, (snapshot?.state as AgentState | undefined) ?? initialState),
    head,
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
export function describeLeavingFor(
  { home, settings, store, catalogue }: LeavingHost,
  row: EgressSources["row"],
  tape: Tape | undefined,
): DescribeLeaving | undefined {
  const { askBeforeSending, openHosts } = settings.web;
  if (!askBeforeSending) return undefined;
  const readSettings: EgressSources["settings"] = () => ({
    texts: SETTINGS.filter(({ secret }) => secret !== true)
      .map(({ name }) => String(valueAt(settings, name) ?? ""))
      .filter((text) => text.includes("://"))
      .join("\n"),
    openHosts: openHosts?.split(/[,\s]+/) ?? [],
  });
  return createDescribeLeaving({
    row,
    store,
    registry: catalogue.registry,
    settings: () => (tape ? tape.value("addresses in settings", readSettings) : readSettings()),
    openFiles: ({ folder }) => openLocalWorkspace(join(home.workspaceFolder, folder)),
  });
}

interface LeavingHost {
  readonly home: Pick<Home, "workspaceFolder">;
  readonly settings: Settings;
  readonly store: Reader;
  readonly catalogue: Pick<EgressSources, "registry">;
}
