/**
 * control.ts -- what a host lets others do with its agents: the one door of the local API, and its words.
 *
 * Whoever serves the socket gives one of these to the server; the routes add nothing but HTTP. Agents are named
 * by id, or by name (the newest of that name). Every method throws GoaldErrors: GOALD_NOT_FOUND for an agent
 * or step that is not there, GOALD_CONFLICT for what does not fit where the agent stands.
 */

import type { AgentSettings, GivenSettings } from "#core/agent-settings.ts";
import type { RecordedEvent } from "#core/event.ts";
import type { AgentSpec } from "#core/ports/agent.ts";
import type { MemoryChange, MemoryChanged } from "#core/ports/memory-row.ts";
import type { ForkRequest } from "#host/fork-agent.ts";
import type { LiveText } from "#host/live-text.ts";

/** Raised when a client of the old one would misunderstand the new one. */
export const PROTOCOL_VERSION = 1;

export interface DaemonStatus {
  readonly pid: number;
  readonly version: string;
  readonly protocol: number;
  /** `daemon` in the background, `foreground` in the process of a terminal. */
  readonly role: "daemon" | "foreground";
  readonly startedAt: string;
  readonly home: string;
  readonly stopping: boolean;
  readonly agents: {
    /** With a step under way. */
    readonly running: number;
    /** For a time, an approval, a person. */
    readonly waiting: number;
    readonly paused: number;
    readonly finished: number;
    /** Of the running: without a new event for longer than a model call may take. */
    readonly stalled: number;
  };
  /** Of the last minute, in milliseconds. */
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly rssBytes: number;
  readonly modelServers: readonly {
    readonly origin: string;
    readonly limit: number;
    readonly active: number;
    readonly queued: number;
    /** ISO time until which the server asked not to be called; null when it may be. */
    readonly closedUntil: string | null;
  }[];
  /** What embeddings of memory have taken today (UTC), over all agents; null dollars: their price is not known. */
  readonly embeddings: {
    readonly model: string;
    readonly tokens: number;
    readonly tokensPerDay: number | null;
    readonly usd: number | null;
  };
  /** Clients that follow an event stream. */
  readonly followers: number;
  /** What works less well than it should, each a sentence. */
  readonly problems: readonly string[];
}

/** One line of `ps`. */
export interface AgentView {
  readonly id: string;
  readonly name: string;
  /** Id of the agent that started it; null for a person's. */
  readonly parent: string | null;
  /** `running`, `interrupted` (no host runs it), `waiting: approval`, `paused: budget`, `completed` … */
  readonly state: string;
  readonly reason: string | null;
  readonly step: number;
  readonly turn: number;
  readonly tokens: number;
  readonly costUsd: number;
  readonly background: boolean;
  /** Milliseconds since its last event, when that is too long for what it is doing; else null. */
  readonly stalledMs: number | null;
  readonly lastCommand: string | null;
  readonly createdAt: string;
  readonly changedAt: string;
  /** Absolute path. */
  readonly workspace: string;
}

export interface NewAgent extends Pick<AgentSpec, "name" | "role" | "goals"> {
  /** `background` is true unless given: the agent goes on when the host that creates it ends. */
  readonly settings: GivenSettings;
  /** Idempotency: the same key makes one agent. */
  readonly key?: string;
  /** Absolute path of a new file into which all runs of the agent are recorded. */
  readonly record?: string;
}

export interface Answer {
  /** Of the call that is meant; absent: the one that waits now. */
  readonly callId?: string;
  readonly verdict: "approved" | "denied";
  /** How many commands in all, this one included. */
  readonly count?: number;
  /** With a denial: what the model reads. */
  readonly text?: string;
}

/** What was done about an agent, and where it stands now. */
export interface Done {
  readonly agent: AgentView;
  /** In words; empty when all is as asked. */
  readonly note: string;
}

export interface ForkedAgent extends AgentView {
  /** How many events and files it begins with. */
  readonly events: number;
  readonly files: number;
}

export interface EventPage {
  readonly events: readonly RecordedEvent[];
  /** Number of the newest event of the agent, shown or not. */
  readonly head: number;
}

export interface Control {
  status(): Promise<DaemonStatus>;
  agents(): Promise<readonly AgentView[]>;
  agent(name: string): Promise<AgentView>;
  create(agent: NewAgent): Promise<AgentView>;
  say(name: string, words: { readonly from: string; readonly text: string; readonly key?: string }): Promise<Done>;
  setGoals(name: string, goals: readonly string[]): Promise<Done>;
  changeSettings(name: string, settings: Partial<AgentSettings>): Promise<Done>;
  /** The step under way is finished; resolves at once. */
  pause(name: string, reason: string): Promise<Done>;
  /** After a pause, a stop, a limit, a crash; `settings` change first. `record`: absolute path of a recording to continue. */
  resume(name: string, settings: Partial<AgentSettings>, how?: { readonly record?: string }): Promise<Done>;
  /** Finishes the step, writes the report; what is not done after `graceMs` is cut off as by `kill`. Resolves when it stands. */
  stop(name: string, graceMs: number): Promise<Done>;
  /** At once: model calls are aborted, child processes killed. Resolves when it stands. */
  kill(name: string): Promise<Done>;
  answer(name: string, answer: Answer): Promise<Done>;
  /** Throws GOALD_CONFLICT for one that is running, unless `force` kills it first. `files`: its folder goes too. */
  remove(
    name: string,
    how: { readonly force: boolean; readonly files: boolean },
  ): Promise<{ readonly id: string; readonly workspace: string }>;
  /** A new agent that begins where this one stood after a step; it is paused. Throws GOALD_NOT_FOUND for a step that it has not taken. */
  fork(name: string, how: ForkRequest): Promise<ForkedAgent>;
  /** What a person changes in an agent's memory, or in the one that all share (`shared`). As `Store.curate`. */
  changeMemory(name: string, changes: readonly MemoryChange[], key: string): Promise<readonly MemoryChanged[]>;
  /** Committed events after `after`, oldest first; at most `limit`. Works until the host is down. */
  page(name: string, after: number, limit: number): Promise<EventPage>;
  /** Resolves when the agent's log is longer than `after`, when it is removed, or when the signal is aborted; rejects for none of them. */
  whenLonger(name: string, after: number, signal: AbortSignal): Promise<void>;
  /** The replies that are arriving now, by agent id. */
  readonly live: LiveText;
  /** Reads settings, commands and words again; agents take them with their next run. Returns what changed, in words. */
  reload(): Promise<readonly string[]>;
  /** Begins to go down: steps are finished, and what is not after `graceMs` is cut off. Resolves at once. */
  shutdown(graceMs: number): Promise<void>;
}
