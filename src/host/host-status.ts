/** host-status.ts -- reports a host's process, event loop, model server and problems. */
import { PROTOCOL_VERSION } from "#api/control.ts";
import type { DaemonStatus } from "#api/schemas.ts";

type Known =
  | "version"
  | "role"
  | "startedAt"
  | "home"
  | "stopping"
  | "agents"
  | "followers"
  | "problems"
  | "cage"
  | "sandbox";

export interface HostFacts extends Pick<DaemonStatus, Known> {
  readonly delay: DaemonStatus["eventLoopDelayMs"];
  readonly modelServer: {
    readonly origin: string;
    readonly limit: number;
    readonly gate: { readonly active: number; readonly queued: number; readonly closedUntil: Date | null };
  };
}

export function describeHost({ delay, modelServer, ...known }: HostFacts): DaemonStatus {
  const { gate, ...server } = modelServer;
  const { version, role, startedAt, home, agents, problems, stopping, followers, cage, sandbox } = known;
  return {
    ...{ pid: process.pid, version, protocol: PROTOCOL_VERSION, role, startedAt, home, agents },
    eventLoopDelayMs: delay,
    rssBytes: process.memoryUsage.rss(),
    modelServers: [
      {
        ...server,
        active: gate.active,
        queued: gate.queued,
        closedUntil: gate.closedUntil?.toISOString() ?? null,
      },
    ],
    ...{ problems, stopping, followers, cage, sandbox },
  };
}
