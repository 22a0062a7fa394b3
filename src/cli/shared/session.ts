/** session.ts -- connects a terminal to the host that runs its agent: a running daemon, or a host in this process. */

import type { HostClient } from "#api/client.ts";
import type { Catalogue } from "#app/catalogue.ts";
import type { Host } from "#app/host.ts";
import { printNote } from "#cli/terminal/print.ts";
import { countNoun } from "#core/text.ts";
import type { AgentView } from "#views/agent-view.ts";
import { connected } from "./connect.ts";
import { type CliContext, formatCall, type GlobalOptions } from "./context.ts";
import { Interrupts } from "./interrupts.ts";
import { type OwnHostParts, openOwnHost } from "./own-host.ts";
import { findDaemon, reachHost } from "./reach.ts";

export interface Session extends AsyncDisposable {
  readonly context: CliContext;
  readonly client: HostClient;
  readonly interrupts: Interrupts;
  /** True when the host is a daemon, whose agents continue after this process ends. */
  readonly isDaemon: boolean;
  /** The catalogue that the host in this process has loaded. */
  readonly catalogue?: Pick<Catalogue, "readThoughts">;
  /** Call when the agent was started on this terminal. */
  own(agent: string): void;
  /** Call when that agent has ended. */
  end(): void;
  /** Ends the host in this process. Prints which agents continue without this terminal. */
  close(): Promise<void>;
}

export interface SessionOptions extends GlobalOptions {
  readonly model?: string;
  /** Called when a person without a key chooses the demo; resolves to the exit code. */
  playDemo(): Promise<number>;
  /** True for a background agent. Starts a daemon when none is running. */
  readonly inBackground: boolean;
}

type Opened =
  | { readonly kind: "session"; readonly session: Session }
  /** The person chose not to run the agent. */
  | { readonly kind: "done"; readonly exitCode: number };

/** Throws GOALD_KEY_MISSING, and throws as `openHost` does. */
export async function openSession(visited: CliContext, options: SessionOptions): Promise<Opened> {
  const daemon = await findDaemon(visited);
  if (daemon) return { kind: "session", session: throughDaemon(visited, daemon) };
  // A started daemon inherits these settings, so a missing key is reported first.
  const connection = await connected(visited, { ...options, forDaemon: options.inBackground });
  if (connection.kind === "done") return connection;
  const { context } = connection;
  const session = options.inBackground
    ? throughDaemon(context, await reachHost(context))
    : await inThisProcess(context);
  return { kind: "session", session };
}

function throughDaemon(context: CliContext, client: HostClient): Session {
  const interrupts = new Interrupts();
  let owned: string | undefined;
  let hasEnded = false;
  const close = async (): Promise<void> => {
    interrupts[Symbol.dispose]();
    if (owned !== undefined) await sayGoing(client, { agent: owned, hasEnded }, context);
    owned = undefined;
  };
  const own = (agent: string): void => {
    owned = agent;
  };
  const end = (): void => {
    hasEnded = true;
  };
  return { context, client, interrupts, isDaemon: true, own, end, close, [Symbol.asyncDispose]: close };
}

export interface OwnSession extends Session {
  readonly host: Host;
}

/** Throws as `openHost` does. */
export async function inThisProcess(context: CliContext, parts: OwnHostParts = {}): Promise<OwnSession> {
  const opened = await openOwnHost(context, parts);
  const { client, host } = opened;
  const interrupts = new Interrupts();
  const owned: string[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    interrupts[Symbol.dispose]();
    closing ??= opened.close(owned);
    return closing;
  };
  const own = (agent: string): void => void owned.push(agent);
  const session = { context, client, interrupts, isDaemon: false, catalogue: host.catalogue, host };
  return { ...session, own, end: () => undefined, close, [Symbol.asyncDispose]: close };
}

interface OwnAgent {
  readonly agent: string;
  readonly hasEnded: boolean;
}

/** Also prints after an error, which ends this process but not the agent. Ignores a daemon that does not respond. */
async function sayGoing(client: HostClient, { agent, hasEnded }: OwnAgent, { home }: CliContext): Promise<void> {
  const going = (await client.agents().catch(() => [])).filter(isGoing).map(({ id }) => id);
  const others = going.filter((id) => id !== agent).length;
  if (!hasEnded && going.includes(agent)) printNote(`${agent} goes on in the background: ${formatCall(home, "ps")}`);
  if (others > 0)
    printNote(
      `${countNoun(others, "other agent")} ${others === 1 ? "goes" : "go"} on in the background: ${formatCall(home, "ps")}`,
    );
}

/** True when the agent runs, or waits for something other than a person. */
const isGoing = ({ state }: AgentView): boolean => /^(?:running|waiting: (?!approval|person))/.test(state);
