/** host-parts.ts -- what the caller of a host provides. */
import type { HostEdges } from "#cassette/demo-script.ts";
import type { Tape } from "#cassette/tape.ts";
import type { ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import type { AgentState } from "#core/state.ts";
import type { ObserverParts } from "#host/observer.ts";
import type { SupervisorParts } from "#host/supervisor.ts";
import type { Log } from "#util/log.ts";
import type { LoadedSettings } from "./agent.ts";

export interface HostParts
  extends LoadedSettings,
    Pick<SupervisorParts, "onFailed">,
    Pick<ObserverParts, "onCommitted"> {
  readonly home: Home;
  readonly log: Log;
  /** Path of the API socket. Absent for a host that accepts no requests. */
  readonly socket?: string;
  /** Reads the settings again. The new redactors also remove earlier secrets. Absent: `reload` is refused. */
  load?(): Promise<LoadedSettings>;
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
