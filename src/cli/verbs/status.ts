/** status.ts -- `goald status`: shows whether the daemon is running, its load and its limits. It reads no settings and no store. */
import { hasDaemonDied } from "#api/daemon-files.ts";
import { askDaemon, checkVersion, type DaemonAnswer, silentDaemon } from "#api/find-daemon.ts";
import type { DaemonStatus } from "#api/schemas.ts";
import { findSandboxLevel, sandboxInWords } from "#app/sandbox.ts";
import { findCage } from "#cage/find-cage.ts";
import { printNote, shortSpan } from "#cli/terminal/print.ts";
import { EXIT } from "#core/errors.ts";
import { MEBIBYTE } from "#core/text.ts";
import { clean } from "#util/outside-text.ts";
import { countStandings } from "#views/agent-view.ts";
import { readVersion } from "../../shipped.ts";
import { type AtHome, callsHere, findOwnContext, formatCall } from "../context.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  description: "show whether the daemon is running, its load and its limits",
  examples: ["goald status", "goald status --json"],
  exitCodes: { daemonUnreachable: "the daemon is not running or does not answer" },
  run: async (_args, options) => {
    using context = await findOwnContext(options);
    const { home } = context;
    const met = await askDaemon(home, PATIENCE_MS);
    if (met.kind === "host") {
      const { client, status: told } = met;
      // A host that has started no reader has not found its level yet. This process is on the same machine.
      const { level, reason, advice } = told.cage ?? (await findCage());
      const sandbox = told.sandbox?.ready ? { ...told.sandbox, ...(await findSandboxLevel()) } : told.sandbox;
      const agents = countStandings(await client.agents());
      show(client.socket, { ...told, agents, cage: { level, reason, advice }, sandbox }, context);
      return EXIT.ok;
    }
    sayAbsent(met, context);
    return EXIT.daemonUnreachable;
  },
});

/** Maximum wait for a daemon that is starting or busy. */
const PATIENCE_MS = 5_000;

function sayAbsent(met: Exclude<DaemonAnswer, { kind: "host" }>, { home, output }: AtHome): void {
  const died = met.kind === "nobody" && hasDaemonDied(home);
  if (output.json) {
    const holder = met.kind === "mute" ? { answers: false, host: met.info ?? null } : { died };
    output.data(JSON.stringify({ running: met.kind === "mute", ...holder }));
  } else if (met.kind === "mute") {
    const { message, hint } = silentDaemon(met);
    output.data(clean(`${message}\n${hint}`));
  } else if (died) output.data(`The daemon died. Start it and continue its agents: ${formatCall(home, "up")}`);
  else output.data(`The daemon is not running. Start it: ${formatCall(home, "up")}`);
}

interface ShownStatus extends DaemonStatus {
  readonly agents: ReturnType<typeof countStandings>;
  readonly cage: NonNullable<DaemonStatus["cage"]>;
}

function show(socket: string, told: ShownStatus, { output, home }: AtHome): void {
  const { connections: _connections, ...shown } = told;
  if (output.json) output.data(JSON.stringify({ running: true, answers: true, socket, ...shown }));
  else output.page(callsHere(home, clean(describe(told, socket))), { indentOf: () => 16, styleOf });
  try {
    checkVersion(told, { version: readVersion() });
  } catch (thrown) {
    // Status is printed even for a daemon of another version.
    if (Error.isError(thrown)) printNote(`${thrown.message} Start this version: ${formatCall(home, "restart")}`);
  }
}

const styleOf = (line: string) => (/^ {2}problem/.test(line) ? "red" : undefined);

function describe(told: ShownStatus, socket: string): string {
  const { agents, eventLoopDelayMs: delay } = told;
  const standing = [
    `${agents.running} running${agents.stalled > 0 ? ` (${agents.stalled} stalled)` : ""}`,
    `${agents.waiting} waiting`,
    `${agents.paused} paused`,
    `${agents.finished} finished`,
    ...(["interrupted", "damaged"] as const).flatMap((kind) => (agents[kind] > 0 ? [`${agents[kind]} ${kind}`] : [])),
  ];
  const rows: (readonly [string, string])[] = [
    ["since", `${told.startedAt} (${shortSpan(Date.now() - Date.parse(told.startedAt))})`],
    ["home", told.home],
    ["socket", socket],
    ["agents", standing.join(", ")],
    ["followers", `${told.followers}`],
    ...(told.page ? [["page", `${told.page} is open; goald dashboard lets a browser in`] as const] : []),
    ["event loop", `delay p50 ${ms(delay.p50)}, p99 ${ms(delay.p99)}, max ${ms(delay.max)} in the last minute`],
    ["memory", `${Math.round(told.rssBytes / MEBIBYTE)} MB`],
    ...told.modelServers.map((server) => ["model server", describeServer(server)] as const),
    ["cage", [`${told.cage.level}.`, told.cage.reason, told.cage.advice].join(" ").trim()],
    ...(told.sandbox ? [["sandbox", sandboxInWords(told.sandbox)] as const] : []),
    ...told.problems.map((problem) => ["problem", problem] as const),
  ];
  const head = `The daemon is up: pid ${told.pid}, goald ${told.version}${told.stopping ? ", stopping" : ""}`;
  return [head, ...rows.map(([name, value]) => `  ${name.padEnd(12)}  ${value}`)].join("\n");
}

function describeServer({ origin, active, limit, queued, closedUntil }: DaemonStatus["modelServers"][number]): string {
  const closed = closedUntil === null ? "" : `; no calls until ${closedUntil}, as the server asked`;
  return `${origin}: ${active} of at most ${limit} calls under way, ${queued} queued${closed}`;
}

const ms = (value: number): string => `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`;
